package io.holdfast.lock.examples.shop;

import org.springframework.data.jpa.repository.JpaRepository;

/** All events. */
interface Events extends JpaRepository<Event, String> {}

package io.holdfast.lock.model;

import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReadWriteStore;

/** A store of all kinds of locks. */
interface FullStore extends ReadWriteStore, PermitStore {}

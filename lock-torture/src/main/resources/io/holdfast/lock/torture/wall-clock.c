/*
 * A wall clock that differs from the machine's by the nanoseconds in the file that HOLDFAST_CLOCK names, for every
 * process that loads this library (LD_PRELOAD). ServerClocks compiles it, and writes the file. It does not change
 * monotonic clocks, nor programs that ask the kernel without libc, as those written in Go do.
 *
 * A wait until a time of the wall clock keeps the offset that it began with.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NANOS_PER_SECOND 1000000000L

/* The bit of a condition of glibc that says that its clock is the monotonic one. */
#define IS_MONOTONIC 2

typedef int clock_reader(clockid_t, struct timespec *);

static const _Atomic int64_t none = 0;
static const _Atomic int64_t *ahead_nanos = &none;
static clock_reader *real_clock;

__attribute__((constructor)) static void start(void) {
  real_clock = (clock_reader *)dlsym(RTLD_NEXT, "clock_gettime");
  const char *path = getenv("HOLDFAST_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file >= 0) {
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) {
      ahead_nanos = mapped;
    }
    close(file);
  }
}

static struct timespec shifted(struct timespec time, int64_t nanos) {
  time.tv_sec += nanos / NANOS_PER_SECOND;
  time.tv_nsec += nanos % NANOS_PER_SECOND;
  if (time.tv_nsec >= NANOS_PER_SECOND) {
    time.tv_sec++;
    time.tv_nsec -= NANOS_PER_SECOND;
  } else if (time.tv_nsec < 0) {
    time.tv_sec--;
    time.tv_nsec += NANOS_PER_SECOND;
  }
  return time;
}

/* May be called before start() has run. */
int clock_gettime(clockid_t clock, struct timespec *time) {
  int failed = real_clock ? real_clock(clock, time) : syscall(SYS_clock_gettime, clock, time);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    *time = shifted(*time, *ahead_nanos);
  }
  return failed;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds) {
    *seconds = now.tv_sec;
  }
  return now.tv_sec;
}

int pthread_cond_timedwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
  if (condition->__data.__wrefs & IS_MONOTONIC) {
    return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, until);
  }
  struct timespec real = shifted(*until, -*ahead_nanos);
  return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &real);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
  struct timespec real = shifted(*until, -*ahead_nanos);
  return sem_clockwait(semaphore, CLOCK_REALTIME, &real);
}

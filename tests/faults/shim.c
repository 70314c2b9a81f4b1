/* Loaded before the C library: what is asked of files below FAULT_PLACE fails once, or for ever, or takes long.

   FAULT_ERROR is a number of errno.h, or 0 for calls that take FAULT_PAUSE_US longer.  The call number FAULT_AT of this
   process is the first that fails, and FAULT_TIMES calls do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

static int below(const char *path) {
    const char *place = getenv("FAULT_PLACE");
    return place && path && strncmp(path, place, strlen(place)) == 0;
}

static int below_fd(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static int fails(int concerned) {
    if (!concerned) return 0;
    long now = atomic_fetch_add(&calls, 1), first = number("FAULT_AT");
    if (number("FAULT_ERROR") == 0) {
        usleep(number("FAULT_PAUSE_US"));
        return 0;
    }
    if (now < first || now >= first + number("FAULT_TIMES")) return 0;
    errno = number("FAULT_ERROR");
    return 1;
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

#define OPENER(name)                                                                  \
    int name(const char *path, int flags, ...) {                                      \
        va_list rest;                                                                 \
        va_start(rest, flags);                                                        \
        mode_t mode = va_arg(rest, mode_t);                                           \
        va_end(rest);                                                                 \
        if (fails((flags & (O_WRONLY | O_RDWR | O_CREAT)) && below(path))) return -1; \
        return REAL(int, #name, const char *, int, mode_t)(path, flags, mode);        \
    }
OPENER(open)
OPENER(open64)

ssize_t write(int fd, const void *data, size_t size) {
    if (fails(below_fd(fd))) return -1;
    return REAL(ssize_t, "write", int, const void *, size_t)(fd, data, size);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    if (fails(below_fd(fd))) return -1;
    return REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t)(fd, data, size, at);
}
int fsync(int fd) { return fails(below_fd(fd)) ? -1 : REAL(int, "fsync", int)(fd); }
int fdatasync(int fd) { return fails(below_fd(fd)) ? -1 : REAL(int, "fdatasync", int)(fd); }
int rename(const char *from, const char *to) {
    return fails(below(to)) ? -1 : REAL(int, "rename", const char *, const char *)(from, to);
}
int link(const char *from, const char *to) {
    return fails(below(to)) ? -1 : REAL(int, "link", const char *, const char *)(from, to);
}
int mkdir(const char *path, mode_t mode) {
    return fails(below(path)) ? -1 : REAL(int, "mkdir", const char *, mode_t)(path, mode);
}
int unlink(const char *path) { return fails(below(path)) ? -1 : REAL(int, "unlink", const char *)(path); }

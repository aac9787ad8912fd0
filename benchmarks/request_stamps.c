/* Preloaded into fakellm: writes down when the kernel had each segment of a request, and when the server read it.
 *
 *   cc -O2 -shared -fPIC -o request_stamps.so request_stamps.c
 *   REQUEST_STAMPS=FILE LD_PRELOAD=./request_stamps.so fakellm ...
 *
 * FILE gets two unsigned 64-bit numbers a read, nanoseconds of CLOCK_MONOTONIC: the kernel's stamp
 * (SO_TIMESTAMPNS) of the last segment read, and the moment after the read (twice that one where there is no
 * stamp: Linux begins to stamp a moment after the first socket asked). What lies between the two is the
 * server's queue: no load generator can have caused it, and none can see it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static FILE *out;

static int64_t now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags) {
    static int (*real)(int, struct sockaddr *, socklen_t *, int);
    if (!real) real = dlsym(RTLD_NEXT, "accept4");
    int fd = real(listener, address, length, flags), on = 1;
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    return fd;
}

ssize_t recv(int fd, void *buffer, size_t size, int flags) {
    char control[64];
    struct iovec part = {.iov_base = buffer, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &message, flags);
    if (got > 0) {
        int64_t read = now(CLOCK_MONOTONIC), offset = now(CLOCK_REALTIME) - read;
        uint64_t pair[2] = {(uint64_t)read, (uint64_t)read};
        struct cmsghdr *said = CMSG_FIRSTHDR(&message);
        if (said && said->cmsg_level == SOL_SOCKET && said->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(said), sizeof t);
            pair[0] = (uint64_t)((int64_t)t.tv_sec * 1000000000 + t.tv_nsec - offset);
        }
        if (!out) out = fopen(getenv("REQUEST_STAMPS"), "wb");
        if (out) fwrite(pair, sizeof pair, 1, out);
    }
    return got;
}

__attribute__((destructor)) static void end(void) {
    if (out) fclose(out);
}

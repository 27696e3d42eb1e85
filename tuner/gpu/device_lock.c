// SPDX-License-Identifier: Apache-2.0
// A lock is an flock on a file named by the device's UUID.
//
// Invariants: 1. the kernel holds the lock, so a killed tuner leaves none behind; what stands in
// the file is only for the message, and may be stale or half-written; 2. the file is never removed
// (whoever opened it before would lock a file that nobody else sees); 3. links and anything but
// plain files are refused: the folder is open to all users; 4. a file that is already there is
// never opened with O_CREAT, which hardened kernels refuse for another user's file in a sticky
// folder.
#include "tuner/gpu/device_lock.h"

#include "tuner/base/clock.h"
#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct st_device_lock {
    int fd;
};

static const char folder_remedy[] =
    "set SIMTUNE_RUNTIME to a folder that all tuners of this machine can write";

// --- the file ------------------------------------------------------------------------------------
st_code st_device_lock_make_folder(const char *path, st_error *error)
{
    struct stat before;
    bool existed = stat(path, &before) == 0;
    st_code code = st_text_make_folder(path, error);
    // Ours: open it to all, as /tmp is. Another's: its owner has done so.
    if (code == ST_OK && !existed)
        chmod(path, 01777);
    return code;
}

static st_code file_name(const char *uuid, st_text *out, st_error *error)
{
    st_code code = st_paths_runtime(out, error);
    if (code == ST_OK)
        code = st_device_lock_make_folder(st_text_string(out), error);
    if (code != ST_OK)
        return code;
    st_text_add(out, "/device-");
    for (const char *c = uuid; *c; c++) {
        char plain = isalnum((unsigned char)*c) || *c == '-' ? *c : '_';
        st_text_add_bytes(out, &plain, 1);
    }
    st_text_add(out, ".lock");
    return out->failed ? st_fail_memory(error, "locking the device") : ST_OK;
}

static int open_file(const char *path)
{
    const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    if (st_fault_here(ST_FAULT_SYSTEM)) {
        errno = EIO;
        return -1;
    }
    for (int attempt = 0; attempt < 3; attempt++) {
        int fd = open(path, O_RDWR | flags);
        if (fd < 0 && errno == EACCES)
            fd = open(path, O_RDONLY | flags); // enough to lock, not to sign
        if (fd >= 0 || errno != ENOENT)
            return fd;
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | flags, 0666);
        if (fd >= 0) {
            fchmod(fd, 0666); // the umask would keep other users out
            return fd;
        }
        if (errno != EEXIST)
            return fd;
    }
    return -1;
}

static st_code open_checked(const char *path, int *fd, st_error *error)
{
    *fd = open_file(path);
    if (*fd < 0)
        return st_fail(error, ST_FAILED, folder_remedy, "the device's lock %s cannot be opened: %s",
                       path, strerror(errno));
    struct stat status;
    if (fstat(*fd, &status) == 0 && S_ISREG(status.st_mode))
        return ST_OK;
    close(*fd);
    *fd = -1;
    return st_fail(error, ST_FAILED, folder_remedy, "the device's lock %s is not a plain file",
                   path);
}

// --- who holds it --------------------------------------------------------------------------------
static void sign(int fd)
{
    char command[256] = "", line[320];
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t length = file ? fread(command, 1, sizeof command - 1, file) : 0;
    if (file)
        fclose(file);
    // Arguments are separated by NULs, and one may hold anything: keep it one line of text.
    while (length > 0 && command[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)command[i]))
            command[i] = ' ';
    int written = snprintf(line, sizeof line, "%d %s\n", (int)getpid(), command);
    // Only a courtesy for the other's message: a failure is not worth one of ours.
    if (ftruncate(fd, 0) == 0 && pwrite(fd, line, (size_t)written, 0) != written)
        (void)!ftruncate(fd, 0);
}

static void read_holder(int fd, st_lock_holder *holder)
{
    char line[320];
    *holder = (st_lock_holder){0};
    ssize_t length = pread(fd, line, sizeof line - 1, 0);
    line[length > 0 ? length : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    char *rest = NULL;
    long pid = strtol(line, &rest, 10);
    if (pid <= 0 || *rest != ' ')
        return;
    holder->pid = (pid_t)pid;
    // Another user wrote this: nothing of it may steer a terminal.
    for (char *c = rest; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    snprintf(holder->command, sizeof holder->command, "%.255s", rest + 1);
}

static st_code fail_held(const char *uuid, const st_lock_holder *holder, double waited,
                         st_error *error)
{
    char who[320] = "another simtune", how_long[48] = "";
    if (holder->pid > 0)
        snprintf(who, sizeof who, "process %d (%s)", (int)holder->pid, holder->command);
    if (waited > 0)
        snprintf(how_long, sizeof how_long, ", waited for %.0f s", waited);
    return st_fail(
        error, ST_FAILED,
        "wait until it ends, or choose another device with --device: two tuners on one GPU "
        "would falsify each other's times",
        "the device %s is being tuned by %s%s", uuid, who, how_long);
}

// --- taking it -----------------------------------------------------------------------------------
static st_code lock_file(int fd, const char *uuid, st_lock_waiting *waiting, void *context,
                         st_error *error)
{
    double start = st_clock_seconds();
    for (;;) {
        int failed = st_fault_here(ST_FAULT_SYSTEM) ? (errno = ENOLCK, -1)
                                                    : flock(fd, LOCK_EX | LOCK_NB);
        if (failed == 0)
            return ST_OK;
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return st_fail(error, ST_FAILED, folder_remedy, "the device %s cannot be locked: %s",
                           uuid, strerror(errno));
        st_lock_holder holder;
        read_holder(fd, &holder);
        double waited = st_clock_seconds() - start;
        if (!waiting || !waiting(context, &holder, waited))
            return fail_held(uuid, &holder, waiting ? waited : 0, error);
        nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
    }
}

st_code st_device_lock_take(const char *uuid, st_lock_waiting *waiting, void *context,
                            st_device_lock **out, st_error *error)
{
    *out = NULL;
    int fd = -1;
    st_text path;
    st_text_init(&path);
    st_device_lock *lock = st_calloc(1, sizeof *lock);
    st_code code =
        lock ? file_name(uuid, &path, error) : st_fail_memory(error, "locking the device");
    if (code == ST_OK)
        code = open_checked(st_text_string(&path), &fd, error);
    if (code == ST_OK)
        code = lock_file(fd, uuid, waiting, context, error);
    st_text_release(&path);
    if (code != ST_OK) {
        if (fd >= 0)
            close(fd);
        st_free(lock);
        return code;
    }
    sign(fd);
    lock->fd = fd;
    *out = lock;
    return ST_OK;
}

void st_device_lock_release(st_device_lock *lock)
{
    if (!lock)
        return;
    (void)!ftruncate(lock->fd, 0);
    close(lock->fd); // and with it the lock
    st_free(lock);
}

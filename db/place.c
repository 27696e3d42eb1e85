// SPDX-License-Identifier: Apache-2.0
// The file system below a store. Invariants: 1. a write-ahead log is used only where all processes that can
// reach the file share memory, which is one host; 2. where other hosts may have the file, locks are tried
// before anything is written, and a store whose locks do not work is refused; 3. what is tried is tried on a
// file of its own beside the store and in a process of its own: closing a file drops a process's locks on it.
//
// What is used:  this machine's own                       write-ahead log
//                another's (or cannot be told), locks work  rollback journal, emptied after use (TRUNCATE: every
//                                                         reader opens it, so network file systems look anew)
//                locks do not work                        refused; with SIMTUNE_DB_LOCKS=trust a rollback
//                                                         journal without locks
//
// To add a file system: a row in `others`, its number from linux/magic.h and its name from /proc/filesystems.
#include "db/store_internal.h"

#include "tuner/base/memory.h"
#include "tuner/base/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

// --- the table -----------------------------------------------------------------------------------------------
// File systems that other hosts (or the host of a virtual machine) can have at the same time. Names that begin
// like a row's are meant as well: nfs4, smb3.
static const struct {
    unsigned magic;
    const char *name;
} others[] = {
    {0x00006969, "nfs"},     {0x0000517B, "smb"},     {0xFF534D42, "cifs"},  {0xFE534D42, "smb2"},
    {0x01021997, "9p"},      {0x0BD00BD0, "lustre"},  {0x47504653, "gpfs"},  {0x19830326, "beegfs"},
    {0x5346414F, "afs"},     {0x6B414653, "afs"},     {0x00C36400, "ceph"},  {0x73757245, "coda"},
    {0x0000564C, "ncp"},     {0x7461636F, "ocfs2"},   {0x01161970, "gfs2"},  {0xAAD7AAEA, "panfs"},
    {0x786F4256, "vboxsf"},  {0xBACBACBC, "vmhgfs"},  {0x20030528, "orangefs"}, {0, "virtiofs"},
};
#define FUSE_MAGIC 0x65735546u
// Those of FUSE that are laid over this machine's own disks. What else comes through FUSE may be anything.
static const char *const own_fuses[] = {"fuseblk", "fuse.fuse-overlayfs", "fuse.bindfs", "fuse.mergerfs",
                                        "fuse.gocryptfs", "fuse.encfs", "fuse.ntfs-3g", "fuse.ntfs",
                                        "fuse.exfat", "fuse.ext2", "fuse.zfs", "fuse.unionfs", "fuse.lxcfs"};
// Options of a mount with which locks stay on this host, though others have the file.
static const char *const local_locks[] = {"nolock", "local_lock=all", "local_lock=posix", "localflock", "nobrl"};

const char *st_place_by_magic(unsigned magic, bool *shared)
{
    *shared = false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].magic && others[i].magic == magic) {
            *shared = true;
            return others[i].name;
        }
    return magic == FUSE_MAGIC ? "fuse" : "";
}

bool st_place_name_is_shared(const char *name)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (st_text_starts(name, others[i].name))
            return true;
    if (!st_text_starts(name, "fuse"))
        return false;
    for (size_t i = 0; i < sizeof own_fuses / sizeof own_fuses[0]; i++)
        if (strcmp(name, own_fuses[i]) == 0)
            return false;
    return true;
}

// --- mounts --------------------------------------------------------------------------------------------------
static bool has_option(const char *options, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = options; (at = strstr(at, word)); at += length)
        if ((at == options || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

// One line of /proc/self/mountinfo; see proc(5).
bool st_place_read_mount(const char *line, uint64_t mount, unsigned device_major, unsigned device_minor, st_file_place *out)
{
    unsigned long long id;
    unsigned major_number, minor_number;
    char name[64], source[256], options[1024] = "";
    const char *rest = strstr(line, " - ");
    if (!rest || sscanf(line, "%llu %*s %u:%u", &id, &major_number, &minor_number) != 3 ||
        sscanf(rest + 3, "%63s %255s %1023s", name, source, options) < 2)
        return false;
    if (mount ? id != mount : major_number != device_major || minor_number != device_minor)
        return false;
    snprintf(out->file_system, sizeof out->file_system, "%.31s", name);
    snprintf(out->source, sizeof out->source, "%.127s", source);
    out->shared = out->shared || st_place_name_is_shared(name);
    out->locks = ST_LOCKS_UNTRIED;
    for (size_t i = 0; i < sizeof local_locks / sizeof local_locks[0]; i++)
        if (out->shared && has_option(options, local_locks[i]))
            out->locks = ST_LOCKS_LOCAL;
    return true;
}

static void find_mount(const char *path, const struct stat *status, st_file_place *out)
{
    uint64_t mount = 0;
#ifdef STATX_MNT_ID
    struct statx more;
    if (statx(AT_FDCWD, path, 0, STATX_MNT_ID, &more) == 0 && more.stx_mask & STATX_MNT_ID)
        mount = more.stx_mnt_id;
#else
    (void)path;
#endif
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (file && !found && getline(&line, &room, file) > 0)
        found = st_place_read_mount(line, mount, major(status->st_dev), minor(status->st_dev), out);
    free(line);
    if (file)
        fclose(file);
}

// For tests: SIMTUNE_FILE_SYSTEM=NAME[:locks=work|refused|ignored|local][:memory=none] stands in for what is there.
static bool stand_in(st_file_place *out)
{
    const char *wish = getenv("SIMTUNE_FILE_SYSTEM");
    if (!wish || !*wish)
        return false;
    static const char *const states[] = {"untried", "work", "refused", "ignored", "local"};
    *out = (st_file_place){.source = "test:/", .memory_maps = !strstr(wish, ":memory=none")};
    snprintf(out->file_system, sizeof out->file_system, "%.*s", (int)strcspn(wish, ":"), wish);
    out->shared = st_place_name_is_shared(out->file_system);
    const char *locks = strstr(wish, ":locks=");
    for (int i = 0; locks && i <= ST_LOCKS_LOCAL; i++)
        if (st_text_starts(locks + 7, states[i]))
            out->locks = (st_locks)i;
    out->locks_errno = out->locks == ST_LOCKS_REFUSED ? ENOLCK : 0;
    return true;
}

// What is mounted at `path` (there), without trying anything.
st_code st_place_look(const char *path, st_file_place *out, st_error *error)
{
    *out = (st_file_place){.memory_maps = true};
    if (stand_in(out))
        return ST_OK;
    struct statfs info;
    struct stat status;
    bool failed = st_fault_here(ST_FAULT_SYSTEM);
    if (failed)
        errno = EIO;
    if (failed || statfs(path, &info) != 0 || stat(path, &status) != 0) {
        if (errno == ENOSYS || errno == EOPNOTSUPP)
            return ST_OK; // not to be told: as everywhere
        return st_fail(error, ST_FAILED, "check the disk that holds it, or name another store with --db",
                       "the file system of %s cannot be told: %s", path, strerror(errno));
    }
    snprintf(out->file_system, sizeof out->file_system, "%s",
             st_place_by_magic((unsigned)info.f_type, &out->shared));
    find_mount(path, &status, out);
    if ((unsigned)info.f_type == FUSE_MAGIC && strcmp(out->file_system, "fuse") == 0)
        out->shared = true; // its kind is not known
    return ST_OK;
}

// --- trying --------------------------------------------------------------------------------------------------
// The bytes that SQLite locks in a store.
enum { PENDING = 0x40000000, RESERVED, SHARED_FIRST, SHARED_SIZE = 510 };

static bool lock_range(int fd, short type, off_t start, off_t length)
{
    struct flock what = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    return fcntl(fd, F_SETLK, &what) == 0;
}

// In a process of its own: what the other one holds must be refused, what is free must be granted.
static int other_process(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return ST_LOCKS_REFUSED;
    if (lock_range(fd, F_WRLCK, RESERVED, 1) || lock_range(fd, F_RDLCK, SHARED_FIRST, SHARED_SIZE))
        return ST_LOCKS_IGNORED;
    return lock_range(fd, F_WRLCK, PENDING, 1) ? ST_LOCKS_WORK : ST_LOCKS_REFUSED;
}

static void try_locks(int fd, const char *path, st_file_place *place)
{
    place->locks = ST_LOCKS_REFUSED;
    if (!lock_range(fd, F_WRLCK, RESERVED, 1) || !lock_range(fd, F_WRLCK, SHARED_FIRST, SHARED_SIZE)) {
        place->locks_errno = errno;
        return;
    }
    pid_t child = fork();
    if (child == 0)
        _exit(other_process(path));
    int status = 0;
    pid_t ended = -1;
    while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        continue;
    place->locks_errno = child < 0 ? errno : 0;
    if (ended == child && WIFEXITED(status))
        place->locks = (st_locks)WEXITSTATUS(status);
}

// Two mappings of one file, and reading it, must show the same bytes: the index of a write-ahead log is that.
static bool shares_memory(int fd, const char *path)
{
    enum { BYTES = 4096, MARK = 0x5A };
    int other = open(path, O_RDWR | O_CLOEXEC);
    bool fine = other >= 0 && ftruncate(fd, BYTES) == 0;
    char *a = fine ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    char *b = fine ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0) : MAP_FAILED;
    fine = fine && a != MAP_FAILED && b != MAP_FAILED;
    if (fine) {
        char byte = 0;
        *(volatile char *)(a + 100) = MARK;
        fine = *(volatile char *)(b + 100) == MARK && pread(other, &byte, 1, 100) == 1 && byte == MARK;
    }
    if (a != MAP_FAILED)
        munmap(a, BYTES);
    if (b != MAP_FAILED)
        munmap(b, BYTES);
    if (other >= 0)
        close(other);
    return fine;
}

st_code st_place_try(const char *store_path, st_file_place *place, st_error *error)
{
    bool own = !place->shared && !st_text_starts(place->file_system, "fuse");
    if (own || place->locks != ST_LOCKS_UNTRIED)
        return ST_OK;
    char *path = st_format("%s-probe-%ld", store_path, (long)getpid());
    if (!path)
        return st_fail_memory(error, "trying the store's locks");
    bool failed = st_fault_here(ST_FAULT_SYSTEM);
    int fd = failed ? -1 : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (failed)
        errno = EIO;
    st_code code = ST_OK;
    if (fd < 0) {
        code = st_fail(error, ST_FAILED, "check the permissions of the folder, or name another store with --db",
                       "the store %s cannot be written: no file can be made beside it: %s", store_path,
                       strerror(errno));
    } else {
        try_locks(fd, path, place);
        place->memory_maps = place->memory_maps && shares_memory(fd, path);
        close(fd);
        unlink(path);
    }
    st_free(path);
    return code;
}

// --- judging -------------------------------------------------------------------------------------------------
bool st_place_is_trusted(void)
{
    const char *wish = getenv("SIMTUNE_DB_LOCKS");
    return wish && strcmp(wish, "trust") == 0;
}

bool st_place_has_locks(const st_file_place *place)
{
    return place->locks == ST_LOCKS_UNTRIED || place->locks == ST_LOCKS_WORK;
}

bool st_place_wants_log(const st_file_place *place)
{
    return !place->shared && st_place_has_locks(place) && place->memory_maps;
}

// Whether a reader gets a lock at all. What another one holds is no refusal.
bool st_place_locks_readers(const char *path, const st_file_place *place)
{
    if (place->locks != ST_LOCKS_UNTRIED)
        return place->locks != ST_LOCKS_REFUSED;
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        bool fine = lock_range(fd, F_RDLCK, SHARED_FIRST, SHARED_SIZE) || errno == EAGAIN || errno == EACCES;
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child < 0 || status == 0;
}

static const char *what_is_wrong(const st_file_place *place)
{
    return place->locks == ST_LOCKS_REFUSED ? "it refuses to lock files"
           : place->locks == ST_LOCKS_IGNORED
               ? "two processes get one lock"
               : "it is mounted so that other hosts do not see this one's locks";
}

st_code st_place_may_write(const st_file_place *place, const char *path, st_error *error)
{
    if (st_place_has_locks(place) || st_place_is_trusted())
        return ST_OK;
    return st_fail(error, ST_FAILED,
                   "keep the store on a disk of this machine (--db FILE, XDG_DATA_HOME) and join stores with "
                   "`simtune db merge`; or mount it with locks (NFS without nolock and local_lock, Lustre with "
                   "flock, CIFS without nobrl); or, if no other process ever writes it, set SIMTUNE_DB_LOCKS=trust",
                   "the store %.500s is not written: its file system %s (%s) has no working locks: %s%s%s", path,
                   place->file_system, place->source, what_is_wrong(place), place->locks_errno ? ": " : "",
                   place->locks_errno ? strerror(place->locks_errno) : "");
}

// --- asking --------------------------------------------------------------------------------------------------
// The nearest folder above that is there.
static void go_up(char *path)
{
    struct stat status;
    while (stat(path, &status) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash) {
            strcpy(path, ".");
            return;
        }
        slash[slash == path] = '\0';
        if (slash == path)
            return;
    }
}

st_code st_place_examine(const char *path, st_file_place *out, st_text *where, st_error *error)
{
    st_text text;
    st_text_init(&text);
    *out = (st_file_place){0};
    st_code code = path ? ST_OK : st_paths_data(&text, error);
    st_text_add(&text, path ? path : "/history.db");
    char *above = code == ST_OK && !text.failed ? st_strdup(st_text_string(&text)) : NULL;
    if (code == ST_OK && !above)
        code = st_fail_memory(error, "looking at the store's place");
    if (code == ST_OK) {
        go_up(above);
        code = st_place_look(above, out, error);
    }
    struct stat status;
    if (code == ST_OK && stat(above, &status) == 0 && access(above, W_OK) == 0) {
        char *beside = S_ISDIR(status.st_mode) ? st_format("%s/history.db", above) : st_strdup(above);
        st_error quiet = {0};
        if (!beside)
            code = st_fail_memory(error, "looking at the store's place");
        else if (st_place_try(beside, out, &quiet) == ST_NO_MEMORY) // a folder that cannot be written is told elsewhere
            code = st_fail_memory(error, "looking at the store's place");
        st_free(beside);
    }
    if (where)
        st_text_add(where, st_text_string(&text));
    st_free(above);
    st_text_release(&text);
    return code;
}

st_code st_store_place(st_store *store, st_file_place *out, st_error *error)
{
    const char *path = sqlite3_db_filename(store->db, "main");
    bool in_memory = strcmp(store->path, ":memory:") == 0;
    st_code code = ST_OK;
    *out = store->place;
    if (in_memory)
        snprintf(out->file_system, sizeof out->file_system, "memory");
    else if (!out->file_system[0]) // a reader has not looked
        code = st_place_look(path && *path ? path : store->path, out, error);
    st_statement statement;
    if (code == ST_OK)
        code = st_statement_open_once(store, &statement, "PRAGMA journal_mode", "asking for its journal", error);
    else
        return code;
    bool row;
    if (code == ST_OK)
        code = st_statement_step(&statement, &row, error);
    if (code == ST_OK)
        st_column_copy(&statement, 0, out->journal, sizeof out->journal);
    st_statement_close(&statement);
    return code;
}

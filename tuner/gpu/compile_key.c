// SPDX-License-Identifier: Apache-2.0
// What names the result of a compile job.
//
// Invariants:
//  1. Everything that the compiler reads is in the key: the texts of the job, its options, the
//  compiler,
//     and the files that `#include` reaches through the job's -I folders.
//  2. An include that is reached is hashed even where the preprocessor would skip it: a key may
//  change
//     without need, but two different contents never share one. (A name made by a macro is the
//     exception:
//     `#include MACRO` is followed only to the macro's name.)
//  3. A file is read once a pool: files that change while a pool is open are not noticed.
#include "tuner/gpu/compile_internal.h"

#include "tuner/base/memory.h"

#include <string.h>

#define KEY_VERSION "simtune compile 1" // changed when the child's own options change

typedef struct include_name {
    char *name;
    bool quoted;
} include_name;

// A file that was looked for. `exists` false: there is none at that path.
typedef struct include_file {
    char *path;
    bool exists;
    char hash[ST_HASH_TEXT];
    include_name *names;
    size_t name_count;
    unsigned long seen_in; // the job that met it last
} include_file;

struct st_include_memory {
    include_file **files;
    size_t count, capacity;
    unsigned long job;
};

st_include_memory *st_include_memory_new(void) {
    return st_calloc(1, sizeof(st_include_memory));
}

static void free_file(include_file *file) {
    if (!file)
        return;
    for (size_t i = 0; i < file->name_count; ++i)
        st_free(file->names[i].name);
    st_free(file->names);
    st_free(file->path);
    st_free(file);
}

void st_include_memory_free(st_include_memory *memory) {
    if (!memory)
        return;
    for (size_t i = 0; i < memory->count; ++i)
        free_file(memory->files[i]);
    st_free(memory->files);
    st_free(memory);
}

static const char *skip_blanks(const char *at) {
    return at + strspn(at, " \t");
}

// Reads `#include "name"` or `<name>` at the start of a line. NULL when the line is none.
static char *include_of_line(const char *line, bool *quoted, bool *failed) {
    const char *at = skip_blanks(line);
    if (*at != '#')
        return NULL;
    at = skip_blanks(at + 1);
    if (strncmp(at, "include", 7) != 0)
        return NULL;
    at = skip_blanks(at + 7);
    if (*at != '"' && *at != '<')
        return NULL;
    *quoted = *at == '"';
    size_t length = strcspn(at + 1, *quoted ? "\"\n" : ">\n");
    char *name = st_strndup(at + 1, length);
    *failed = !name;
    return name;
}

static st_code find_names(const char *text, include_name **names, size_t *count, st_error *error) {
    size_t capacity = 0;
    bool failed = false;
    while (text && !failed) {
        include_name found = {0};
        found.name = include_of_line(text, &found.quoted, &failed);
        if (found.name) {
            include_name *more = st_grow(*names, &capacity, *count + 1, sizeof **names);
            if (more) {
                *names = more;
                more[(*count)++] = found;
            } else {
                st_free(found.name);
                failed = true;
            }
        }
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return failed ? st_fail_memory(error, "reading the includes of a source") : ST_OK;
}

// The file at `path` (taken over), from memory or read now; NULL when memory is out.
static include_file *get_file(st_include_memory *memory, char *path, st_error *error) {
    for (size_t i = 0; i < memory->count; ++i)
        if (strcmp(memory->files[i]->path, path) == 0) {
            st_free(path);
            return memory->files[i];
        }
    include_file *file = st_calloc(1, sizeof *file);
    include_file **more =
        st_grow(memory->files, &memory->capacity, memory->count + 1, sizeof *memory->files);
    if (more)
        memory->files = more;
    if (!file || !more) {
        st_free(file);
        st_free(path);
        st_fail_memory(error, "reading the includes of a source");
        return NULL;
    }
    file->path = path;
    st_text text;
    st_text_init(&text);
    file->exists = st_text_read_file(&text, path, NULL) == ST_OK;
    st_code code = ST_OK;
    if (file->exists) {
        st_hash_of(st_text_string(&text), text.length, file->hash);
        code = find_names(st_text_string(&text), &file->names, &file->name_count, error);
    }
    st_text_release(&text);
    if (code) {
        free_file(file);
        return NULL;
    }
    memory->files[memory->count++] = file;
    return file;
}

// The folder of the i-th option where it is one of -I DIR, -IDIR, --include-path[=]DIR; else NULL.
static const char *include_folder(const st_compile_job *job, size_t i) {
    static const char *const forms[] = {"-I", "--include-path"};
    const char *option = job->options[i];
    for (size_t f = 0; f < 2; ++f) {
        size_t length = strlen(forms[f]);
        if (strncmp(option, forms[f], length) != 0)
            continue;
        const char *rest = option + length + (option[length] == '=');
        if (*rest)
            return rest;
        return i + 1 < job->option_count ? job->options[i + 1] : NULL;
    }
    return NULL;
}

typedef struct key_work {
    const st_compile_job *job;
    st_include_memory *memory;
    st_hash *hash;
    st_error *error;
} key_work;

static st_code add_names(key_work *work, const include_name *names, size_t count,
                         const char *includer);

// Adds the file FOLDER/NAME and what it includes. *found says whether there is one.
static st_code add_file(key_work *work, const char *folder, size_t folder_length, const char *name,
                        bool *found) {
    char *path = st_format("%.*s/%s", (int)folder_length, folder, name);
    if (!path)
        return st_fail_memory(work->error, "reading the includes of a source");
    include_file *file = get_file(work->memory, path, work->error);
    if (!file)
        return ST_NO_MEMORY;
    *found = file->exists;
    if (!file->exists || file->seen_in == work->memory->job)
        return ST_OK;
    file->seen_in = work->memory->job;
    st_hash_field(work->hash, name);
    st_hash_field(work->hash, file->hash);
    return add_names(work, file->names, file->name_count, file->path);
}

static bool is_given(const st_compile_job *job, const char *name) {
    for (size_t i = 0; i < job->include_count; ++i)
        if (strcmp(job->includes[i].name, name) == 0)
            return true;
    return false;
}

static st_code add_names(key_work *work, const include_name *names, size_t count,
                         const char *includer) {
    st_code code = ST_OK;
    for (size_t n = 0; n < count && !code; ++n) {
        bool found = is_given(work->job, names[n].name);
        const char *slash = includer ? strrchr(includer, '/') : NULL;
        if (!found && names[n].quoted && slash)
            code = add_file(work, includer, (size_t)(slash - includer), names[n].name, &found);
        for (size_t i = 0; i < work->job->option_count && !found && !code; ++i) {
            const char *folder = include_folder(work->job, i);
            if (folder)
                code = add_file(work, folder, strlen(folder), names[n].name, &found);
        }
    }
    return code;
}

static st_code add_text_includes(key_work *work, const char *text) {
    include_name *names = NULL;
    size_t count = 0;
    st_code code = find_names(text, &names, &count, work->error);
    if (!code)
        code = add_names(work, names, count, NULL);
    for (size_t i = 0; i < count; ++i)
        st_free(names[i].name);
    st_free(names);
    return code;
}

static st_code add_reached_files(key_work *work) {
    bool any = false;
    for (size_t i = 0; i < work->job->option_count && !any; ++i)
        any = include_folder(work->job, i) != NULL;
    if (!any)
        return ST_OK;
    work->memory->job++;
    st_code code = add_text_includes(work, work->job->source);
    for (size_t i = 0; i < work->job->include_count && !code; ++i)
        code = add_text_includes(work, work->job->includes[i].text);
    return code;
}

st_code st_compile_key(const st_compile_job *job, const char *compiler, st_include_memory *memory,
                       char key[ST_HASH_TEXT], st_error *error) {
    st_hash *hash = st_hash_new();
    if (!hash)
        return st_fail_memory(error, "naming a compile job");
    const char *fields[] = {KEY_VERSION, compiler,       job->backend,
                            job->arch,   job->file_name, job->source};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i)
        st_hash_field(hash, fields[i]);
    st_hash_number(hash, (int64_t)job->include_count);
    for (size_t i = 0; i < job->include_count; ++i) {
        st_hash_field(hash, job->includes[i].name);
        st_hash_field(hash, job->includes[i].text);
    }
    st_hash_number(hash, (int64_t)job->option_count);
    for (size_t i = 0; i < job->option_count; ++i)
        st_hash_field(hash, job->options[i]);
    st_hash_number(hash, (int64_t)job->kernel_count);
    for (size_t i = 0; i < job->kernel_count; ++i)
        st_hash_field(hash, job->kernels[i]);
    key_work work = {.job = job, .memory = memory, .hash = hash, .error = error};
    st_code code = add_reached_files(&work);
    if (!code)
        st_hash_text(hash, key);
    st_hash_free(hash);
    return code;
}

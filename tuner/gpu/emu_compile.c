// SPDX-License-Identifier: Apache-2.0
// The emulated device's compiler: the host's C++ compiler, run on the template source between
// templates/emu/cuda_on_cpu.h and a generated table of the wanted kernels.
//
//  1. Everything is written into one fresh folder, which is gone when st_emu_compile returns.
//  2. Lines of messages are those of the template: the table begins with a #line of its own.
//  3. `extern __shared__` arrays are undefined thread-local symbols of the object. All of them are defined
//     at one place, the end of the static shared memory, by an assembler file beside it.
//  4. A source that does not compile is an outcome with a log; a compiler that cannot run is an error.
#include "tuner/base/hash.h"
#include "tuner/base/memory.h"
#include "tuner/base/paths.h"
#include "tuner/base/text.h"
#include "tuner/gpu/emu_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REMEDY                                                                                     \
    "install a C++ compiler (Debian, Ubuntu: apt install g++) or name one in SIMTUNE_HOST_CXX"
#define MAX_ARGUMENTS 320
#define LOG_LIMIT ((size_t)256 << 10)

extern char **environ;

typedef struct host_compiler {
    char program[256], version[48];
    bool is_clang;
} host_compiler;

// --- running a program -----------------------------------------------------------------------------

// Runs argv[0] (sought in PATH), both outputs appended to `log`. *status as waitpid; ST_NOTHING when it
// cannot be run at all.
static st_code run(char *const *argv, st_text *log, int *status, st_error *error) {
    int ends[2] = {-1, -1};
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC))
        return st_fail(error, ST_FAILED, NULL, "pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    int failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        return st_fail(error, ST_NOTHING, REMEDY, "the emulated device's compiler %s: %s", argv[0],
                       strerror(failed));
    }
    char buffer[4096];
    for (;;) {
        ssize_t n = read(ends[0], buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        if (log->length < LOG_LIMIT)
            st_text_add_bytes(log, buffer, (size_t)n);
    }
    close(ends[0]);
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            return st_fail(error, ST_FAILED, NULL, "waiting for %s: %s", argv[0], strerror(errno));
    return ST_OK;
}

// --- which compiler ------------------------------------------------------------------------------------

static bool probe(const char *program, host_compiler *out) {
    char *const argv[] = {(char *)program, "--version", NULL};
    st_text text;
    int status = -1;
    st_text_init(&text);
    bool works = run(argv, &text, &status, NULL) == ST_OK && WIFEXITED(status) &&
                 WEXITSTATUS(status) == 0 && !text.failed;
    if (works) {
        // "g++ (Debian 12.2.0-14) 12.2.0", "Debian clang version 14.0.6": the last number of line 1.
        const char *line = st_text_string(&text);
        size_t length = strcspn(line, "\n");
        char number[24] = "?";
        for (size_t i = 0; i < length; i++)
            if ((i == 0 || line[i - 1] == ' ') && line[i] >= '0' && line[i] <= '9')
                snprintf(number, sizeof number, "%.*s", (int)strcspn(line + i, " \n-+~)"), line + i);
        const char *name = strrchr(program, '/');
        out->is_clang = strstr(line, "clang") != NULL;
        snprintf(out->program, sizeof out->program, "%s", program);
        snprintf(out->version, sizeof out->version, "%.16s %s", name ? name + 1 : program, number);
    }
    st_text_release(&text);
    return works;
}

static st_code find_compiler(host_compiler *out, st_error *error) {
    static host_compiler known; // a process compiles many programs
    static char known_wish[256];
    const char *wish = getenv("SIMTUNE_HOST_CXX");
    if (known.program[0] && strcmp(known_wish, wish ? wish : "") == 0) {
        *out = known;
        return ST_OK;
    }
    if (wish && wish[0]) {
        if (strlen(wish) >= sizeof known.program || !probe(wish, out))
            return st_fail(error, ST_NOTHING, REMEDY,
                           "the emulated device's compiler %s (SIMTUNE_HOST_CXX) does not run", wish);
    } else if (!probe("g++", out) && !probe("clang++", out) && !probe("c++", out)) {
        return st_fail(error, ST_NOTHING, REMEDY,
                       "the emulated device needs a C++ compiler; none of g++, clang++, c++ runs");
    }
    known = *out;
    snprintf(known_wish, sizeof known_wish, "%s", wish ? wish : "");
    return ST_OK;
}

static const char *const device_headers[] = {"cuda_on_cpu.h", "abi.h", "cuda_types.h", "cuda_warp.h",
                                             "cuda_memory.h", "cuda_math.h", "kernel_table.h"};

// The folder of the device headers; with `hash` also eight digits of what is in them.
static st_code header_folder(st_text *folder, char hash[9], st_error *error) {
    st_code code = st_paths_shipped("templates/emu/cuda_on_cpu.h", folder, error);
    if (code)
        return code;
    folder->length = (size_t)(strrchr(folder->data, '/') - folder->data);
    folder->data[folder->length] = 0;
    if (!hash)
        return ST_OK;
    char digits[ST_HASH_TEXT];
    st_hash *running = st_hash_new();
    if (!running)
        return st_fail_memory(error, "hashing the emulated device's headers");
    for (size_t i = 0; !code && i < sizeof device_headers / sizeof *device_headers; i++) {
        st_text path, text;
        st_text_init(&path);
        st_text_init(&text);
        st_text_addf(&path, "%s/%s", folder->data, device_headers[i]);
        code = path.failed ? st_fail_memory(error, "reading the emulated device's headers")
                           : st_text_read_file(&text, path.data, error);
        if (!code)
            st_hash_bytes(running, text.data, text.length);
        st_text_release(&path);
        st_text_release(&text);
    }
    st_hash_text(running, digits);
    st_hash_free(running);
    snprintf(hash, 9, "%.8s", digits);
    return code;
}

st_code st_emu_compiler(char version[48], st_error *error) {
    host_compiler compiler;
    st_code code = find_compiler(&compiler, error);
    if (code)
        return code;
    char hash[9] = "";
    st_text folder;
    st_text_init(&folder);
    code = header_folder(&folder, hash, error);
    st_text_release(&folder);
    if (!code)
        snprintf(version, 48, "%.32s emu %s", compiler.version, hash);
    return code;
}

// --- the program's text ----------------------------------------------------------------------------------

static const char table_top[] =
    "\n#line 1 \"simtune's table of kernels\"\n"
    "static const struct simtune_emu_kernel simtune_emu_kernels[] = {\n";

static void add_quoted(st_text *text, const char *words) {
    st_text_add(text, "\"");
    for (const char *c = words; *c; c++)
        if (*c == '"' || *c == '\\')
            st_text_addf(text, "\\%c", *c);
        else
            st_text_add_bytes(text, c, 1);
    st_text_add(text, "\"");
}

// NVRTC's options that mean something to the host compiler; the rest says nothing about what is computed.
typedef enum option_kind { OPTION_OTHER, OPTION_DEFINE, OPTION_UNDEFINE, OPTION_INCLUDE, OPTION_STD } option_kind;

// What options[*at] is and its value; steps over a value that stands by itself ("-D" "NAME").
static option_kind read_option(const st_compile_job *job, size_t *at, const char **value) {
    static const struct { const char *word; option_kind kind; } known[] = {
        {"--define-macro=", OPTION_DEFINE}, {"--undefine-macro=", OPTION_UNDEFINE},
        {"--include-path=", OPTION_INCLUDE}, {"-std=", OPTION_STD}, {"--std=", OPTION_STD},
        {"-D", OPTION_DEFINE}, {"-U", OPTION_UNDEFINE}, {"-I", OPTION_INCLUDE},
    };
    const char *option = job->options[*at];
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (!st_text_starts(option, known[k].word))
            continue;
        *value = option + strlen(known[k].word);
        if (!**value && *at + 1 < job->option_count)
            *value = job->options[++*at];
        return known[k].kind;
    }
    return OPTION_OTHER;
}

// Macros stand behind our headers, whose words they must not change.
static void add_macros(st_text *text, const st_compile_job *job) {
    for (size_t i = 0; i < job->option_count; i++) {
        const char *value = NULL;
        option_kind kind = read_option(job, &i, &value);
        if (kind == OPTION_UNDEFINE)
            st_text_addf(text, "#undef %s\n", value);
        if (kind != OPTION_DEFINE)
            continue;
        const char *equals = strchr(value, '=');
        if (equals)
            st_text_addf(text, "#define %.*s %s\n", (int)(equals - value), value, equals + 1);
        else
            st_text_addf(text, "#define %s 1\n", value);
    }
}

static void add_program(st_text *text, const st_compile_job *job) {
    st_text_add(text, "#include \"cuda_on_cpu.h\"\n#include \"kernel_table.h\"\n");
    add_macros(text, job);
    st_text_add(text, "#line 1 ");
    add_quoted(text, job->file_name);
    st_text_add(text, "\n");
    st_text_add(text, job->source);
    st_text_add(text, table_top);
    for (size_t k = 0; k < job->kernel_count; k++) {
        st_text_add(text, "#line 1 \"the kernel ");
        for (const char *c = job->kernels[k]; *c; c++)
            if (*c != '"' && *c != '\\' && *c != '\n')
                st_text_add_bytes(text, c, 1);
        st_text_add(text, "\"\nSIMTUNE_EMU_ENTRY(");
        add_quoted(text, job->kernels[k]);
        st_text_addf(text, ", %s),\n", job->kernels[k]);
    }
    st_text_addf(text,
                 "{0, 0, 0, 0, 0}};\n"
                 "extern \"C\" __attribute__((visibility(\"default\"))) const struct "
                 "simtune_emu_module " SIMTUNE_EMU_MODULE_SYMBOL ";\n"
                 "const struct simtune_emu_module " SIMTUNE_EMU_MODULE_SYMBOL
                 " = {%u, %zu, simtune_emu_kernels, &simtune_emu_self, &simtune_emu_do};\n",
                 SIMTUNE_EMU_ABI, job->kernel_count);
}

static st_code write_file(const char *folder, const char *name, const char *bytes, size_t length,
                          st_error *error) {
    char *path = st_format("%s/%s", folder, name);
    st_code code = path ? st_text_write_file(path, bytes, length, NULL, error)
                        : st_fail_memory(error, "compiling for the emulated device");
    st_free(path);
    return code;
}

static st_code write_sources(const char *folder, const st_compile_job *job, st_error *error) {
    st_text program;
    st_text_init(&program);
    add_program(&program, job);
    st_code code = program.failed ? st_fail_memory(error, "compiling for the emulated device")
                                  : write_file(folder, "program.cpp", program.data, program.length,
                                               error);
    st_text_release(&program);
    for (size_t i = 0; !code && i < job->include_count; i++) {
        const st_source_text *include = &job->includes[i];
        if (include->name[0] == '/' || strstr(include->name, ".."))
            return st_fail(error, ST_USAGE, "include files of the template's folder or below it",
                           "%s: the include \"%s\" leaves the template's folder", job->file_name,
                           include->name);
        code = write_file(folder, include->name, include->text, strlen(include->text), error);
    }
    return code;
}

// --- options -----------------------------------------------------------------------------------------------

typedef struct arguments {
    char *list[MAX_ARGUMENTS];
    size_t count;
    bool failed;
} arguments;

static void add(arguments *to, char *owned) {
    if (!owned || to->count + 1 >= MAX_ARGUMENTS) {
        st_free(owned);
        to->failed = true;
        return;
    }
    to->list[to->count++] = owned;
    to->list[to->count] = NULL;
}

static void release(arguments *of) {
    for (size_t i = 0; i < of->count; i++)
        st_free(of->list[i]);
}

static void add_options(arguments *to, const st_compile_job *job) {
    for (size_t i = 0; i < job->option_count; i++) {
        const char *value = NULL;
        option_kind kind = read_option(job, &i, &value);
        if (kind == OPTION_INCLUDE)
            add(to, st_format("-I%s", value));
        else if (kind == OPTION_STD)
            add(to, st_format("-std=%s", value));
    }
}

static void add_flags(arguments *to, const host_compiler *compiler, const st_compile_job *job,
                      const char *headers, const char *folder) {
    static const char *const flags[] = {
        "-std=c++11", "-O1", "-fPIC", "-w", "-pipe", "-DSIMTUNE_EMULATED=1", "-fvisibility=hidden",
        "-fno-exceptions", "-fno-rtti", "-fno-strict-aliasing", "-fwrapv", "-ffp-contract=off",
        "-fno-math-errno", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
        "-fno-threadsafe-statics", "-fstack-clash-protection",
    };
    static const char *const gcc_flags[] = {
        "-fno-gnu-unique", "-fno-extern-tls-init",
#if defined(__x86_64__)
        "-mtls-dialect=gnu",
#elif defined(__aarch64__)
        "-mtls-dialect=trad",
#endif
    };
    add(to, st_strdup(compiler->program));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        add(to, st_strdup(flags[i]));
    for (size_t i = 0; !compiler->is_clang && i < sizeof gcc_flags / sizeof *gcc_flags; i++)
        add(to, st_strdup(gcc_flags[i]));
    int cc = 0;
    if (sscanf(job->arch, "%*[a-z]_%d", &cc) == 1 && cc > 0)
        add(to, st_format("-D__CUDA_ARCH__=%d", cc * 10));
    add(to, st_format("-I%s", folder));
    add(to, st_format("-I%s", headers));
    add_options(to, job);
}

// --- dynamic shared memory -----------------------------------------------------------------------------------

static bool add_dynamic(void *context, const st_elf_symbol *symbol) {
    st_text *text = context;
    if (symbol->is_tls && symbol->is_undefined && symbol->name[0])
        st_text_addf(text, ".globl %s\n.type %s, %%tls_object\n%s:\n",
                     symbol->name, symbol->name, symbol->name);
    return true;
}

// Writes dynamic.s, which defines the undefined thread-local symbols of program.o; *any says whether there
// are some.
static st_code define_dynamic(const char *folder, bool *any, st_error *error) {
    static const char top[] = ".section .note.GNU-stack,\"\",%progbits\n"
                              ".section .tbss.simtune_dynamic,\"awT\",%nobits\n.p2align 7\n";
    st_text object, text;
    st_text_init(&object);
    st_text_init(&text);
    char *path = st_format("%s/program.o", folder);
    st_code code = path ? st_text_read_file(&object, path, error)
                        : st_fail_memory(error, "compiling for the emulated device");
    st_text_add(&text, top);
    if (!code)
        code = st_elf_symbols(object.data, object.length, add_dynamic, &text, error);
    *any = text.length >= sizeof top;
    if (!code && text.failed)
        code = st_fail_memory(error, "compiling for the emulated device");
    if (!code && *any)
        code = write_file(folder, "dynamic.s", text.data, text.length, error);
    st_free(path);
    st_text_release(&object);
    st_text_release(&text);
    return code;
}

// --- compiling ---------------------------------------------------------------------------------------------------

// One run of the compiler with its arguments; *works says whether it was content.
static st_code run_step(arguments *list, st_text *log, bool *works, st_error *error) {
    int status = 0;
    if (list->failed)
        return st_fail(error, ST_FAILED, "give fewer options",
                       "too many options, or no memory, for the emulated device's compiler");
    st_code code = run(list->list, log, &status, error);
    if (!code && WIFSIGNALED(status))
        st_text_addf(log, "the compiler was ended by signal %d\n", WTERMSIG(status));
    *works = !code && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!code && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return st_fail(error, ST_NOTHING, REMEDY, "the emulated device's compiler %s does not run",
                       list->list[0]);
    return code;
}

static st_code compile_in(const char *folder, const host_compiler *compiler, const char *headers,
                          const st_compile_job *job, st_text *log, bool *works, st_error *error) {
    arguments list = {.count = 0};
    bool any = false;
    st_code code = write_sources(folder, job, error);
    if (code)
        return code;
    add_flags(&list, compiler, job, headers, folder);
    add(&list, st_strdup("-c"));
    add(&list, st_format("%s/program.cpp", folder));
    add(&list, st_strdup("-o"));
    add(&list, st_format("%s/program.o", folder));
    code = run_step(&list, log, works, error);
    release(&list);
    if (!code && *works)
        code = define_dynamic(folder, &any, error);
    if (code || !*works)
        return code;
    list = (arguments){.count = 0};
    add(&list, st_strdup(compiler->program));
    add(&list, st_strdup("-shared"));
    add(&list, st_strdup("-Wl,-Bsymbolic"));
    add(&list, st_strdup("-Wl,--as-needed"));
    add(&list, st_format("%s/program.o", folder));
    if (any) // last: the dynamic part is the end of the thread-local segment
        add(&list, st_format("%s/dynamic.s", folder));
    add(&list, st_strdup("-o"));
    add(&list, st_format("%s/program.so", folder));
    add(&list, st_strdup("-lm"));
    code = run_step(&list, log, works, error);
    release(&list);
    return code;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}

// The texts name the temporary folder, which says nothing to anybody.
static char *clean_log(const st_text *log, const char *folder) {
    st_text out;
    size_t length = strlen(folder);
    st_text_init(&out);
    st_text_add(&out, "");
    const char *at = st_text_string(log);
    for (const char *hit; (hit = strstr(at, folder)); at = hit + length + (hit[length] == '/'))
        st_text_add_bytes(&out, at, (size_t)(hit - at));
    st_text_add(&out, at);
    char *taken = out.length ? st_text_take(&out) : NULL;
    st_text_release(&out);
    return taken ? taken : st_strdup("");
}

static st_code take_image(const char *folder, const st_compile_job *job, st_compiled *out,
                          st_error *error) {
    st_text image;
    st_text_init(&image);
    char *path = st_format("%s/program.so", folder);
    st_code code = path ? st_text_read_file(&image, path, error)
                        : st_fail_memory(error, "compiling for the emulated device");
    st_free(path);
    if (!code) {
        out->image_bytes = image.length;
        out->image = st_text_take(&image);
        out->lowered_names = st_calloc(job->kernel_count + 1, sizeof(char *));
        out->kernel_count = out->lowered_names ? job->kernel_count : 0;
        for (size_t k = 0; k < out->kernel_count; k++)
            if (!(out->lowered_names[k] = st_strdup(job->kernels[k])))
                code = st_fail_memory(error, "compiling for the emulated device");
        if (!out->image || !out->lowered_names)
            code = st_fail_memory(error, "compiling for the emulated device");
    }
    st_text_release(&image);
    return code;
}

st_code st_emu_compile(const st_compile_job *job, st_compiled *out, st_error *error) {
    host_compiler compiler;
    bool works = false;
    st_text log, headers;
    char *folder = NULL;
    const char *base = getenv("TMPDIR");
    memset(out, 0, sizeof *out);
    out->id = job->id;
    out->outcome = ST_COMPILE_ERROR;
    st_text_init(&log);
    st_text_init(&headers);
    st_code code = st_emu_compiler(out->compiler, error);
    if (!code)
        code = find_compiler(&compiler, error);
    if (!code)
        code = header_folder(&headers, NULL, error);
    if (code)
        goto out;
    folder = st_format("%s/simtune-emu-XXXXXX", base && base[0] ? base : "/tmp");
    if (!folder) {
        code = st_fail_memory(error, "compiling for the emulated device");
        goto out;
    }
    if (!mkdtemp(folder)) {
        code = st_fail(error, ST_FAILED, "name another folder in TMPDIR", "cannot make %s: %s",
                       folder, strerror(errno));
        st_free(folder);
        folder = NULL;
        goto out;
    }
    code = compile_in(folder, &compiler, headers.data, job, &log, &works, error);
    if (!code && works)
        code = take_image(folder, job, out, error);
    if (!code && works)
        out->outcome = ST_COMPILED;
    if (!code && !(out->log = clean_log(&log, folder)))
        code = st_fail_memory(error, "compiling for the emulated device");
out:
    if (folder) {
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        st_free(folder);
    }
    st_text_release(&log);
    st_text_release(&headers);
    if (code)
        st_compiled_release(out);
    return code;
}

// SPDX-License-Identifier: Apache-2.0
// The emulated device's compiler: the host's C++ compiler, run on the template source between
// templates/emu/cuda_on_cpu.h and a generated table of the wanted kernels.
//
//  1. Everything is written into one fresh folder, which is gone when st_emu_compile returns.
//  2. Lines of messages are those of the template: the table begins with a #line of its own.
//  3. `extern __shared__` arrays are undefined thread-local symbols of the object. All of them are
//  defined
//     at one place, the end of the static shared memory, by an assembler file beside it.
//  4. A source that does not compile is an outcome with a log; a compiler that cannot run is an
//  error.
#include "tuner/base/memory.h"
#include "tuner/base/text.h"
#include "tuner/gpu/emu_host_compiler.h"
#include "tuner/gpu/emu_internal.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDERS_DEEP 3
#define MAX_ARGUMENTS 320
#define SHARED_GAP 64

// --- the program's text ------------------------------------------------------------------------

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

// NVRTC's options that mean something to the host compiler; the rest says nothing about what is
// computed.
typedef enum option_kind {
    OPTION_OTHER,
    OPTION_DEFINE,
    OPTION_UNDEFINE,
    OPTION_INCLUDE,
    OPTION_STD
} option_kind;

// What options[*at] is and its value; steps over a value that stands by itself ("-D" "NAME").
static option_kind read_option(const st_compile_job *job, size_t *at, const char **value) {
    static const struct {
        const char *word;
        option_kind kind;
    } known[] = {
        {"--define-macro=", OPTION_DEFINE},
        {"--undefine-macro=", OPTION_UNDEFINE},
        {"--include-path=", OPTION_INCLUDE},
        {"-std=", OPTION_STD},
        {"--std=", OPTION_STD},
        {"-D", OPTION_DEFINE},
        {"-U", OPTION_UNDEFINE},
        {"-I", OPTION_INCLUDE},
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
                 " = {%u, SIMTUNE_EMU_CHECKED, %zu, simtune_emu_kernels, &simtune_emu_self,\n"
                 "    &simtune_emu_do, __start___patchable_function_entries,\n"
                 "    __stop___patchable_function_entries};\n",
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

// True for absolute names and for those that climb out of the fresh folder. Programs stand
// FOLDERS_DEEP folders deep in it, so that "../x.cuh" has its place.
static bool leaves_folder(const char *name) {
    int depth = FOLDERS_DEEP;
    for (const char *at = name; *at && depth >= 0; at += strspn(at, "/")) {
        size_t length = strcspn(at, "/");
        if (length == 2 && at[0] == '.' && at[1] == '.')
            depth--;
        else if (length != 1 || at[0] != '.')
            depth++;
        at += length;
    }
    return name[0] == '/' || depth < 0;
}

static st_code write_sources(const char *folder, const st_compile_job *job, st_error *error) {
    st_text program;
    st_text_init(&program);
    add_program(&program, job);
    st_code code = program.failed
                       ? st_fail_memory(error, "compiling for the emulated device")
                       : write_file(folder, "program.cpp", program.data, program.length, error);
    st_text_release(&program);
    for (size_t i = 0; !code && i < job->include_count; i++) {
        const st_source_text *include = &job->includes[i];
        if (leaves_folder(include->name))
            return st_fail(error, ST_USAGE, "include files of the template's folder or near it",
                           "%s: the include \"%s\" is too far from the template's folder",
                           job->file_name, include->name);
        code = write_file(folder, include->name, include->text, strlen(include->text), error);
    }
    return code;
}

// --- options -----------------------------------------------------------------------------------

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

// Every access calls templates/emu/checks.h; every shared variable has a section of its own; what has
// no value has none that could be right. (DWARF 4: binutils name the wrong file of a program with
// #line in DWARF 5.)
static void add_check_flags(arguments *to, const st_emu_host_compiler *compiler) {
    static const char *const flags[] = {"-fsanitize=thread", "-g1", "-gdwarf-4", "-fdata-sections"};
    static const char *const gcc_flags[] = {"--param=tsan-distinguish-volatile=1",
                                            "--param=tsan-instrument-func-entry-exit=0"};
    static const char *const clang_flags[] = {"-mllvm", "-tsan-distinguish-volatile=1", "-mllvm",
                                              "-tsan-instrument-func-entry-exit=0"};
    const char *space = strrchr(compiler->version, ' '); // "g++ 12.2.0"
    int major = space ? atoi(space + 1) : 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        add(to, st_strdup(flags[i]));
    for (size_t i = 0; !compiler->is_clang && i < sizeof gcc_flags / sizeof *gcc_flags; i++)
        add(to, st_strdup(gcc_flags[i]));
    for (size_t i = 0; compiler->is_clang && i < sizeof clang_flags / sizeof *clang_flags; i++)
        add(to, st_strdup(clang_flags[i]));
    if (compiler->is_clang || major >= 12)
        add(to, st_strdup("-ftrivial-auto-var-init=pattern"));
}

static void add_flags(arguments *to, const st_emu_host_compiler *compiler,
                      const st_compile_job *job, const char *headers, const char *folder) {
    static const char *const flags[] = {
        "-std=c++11",
        "-O1",
        "-fPIC",
        "-w",
        "-pipe",
        "-DSIMTUNE_EMULATED=1",
        "-fvisibility=hidden",
        "-fno-exceptions",
        "-fno-rtti",
        "-fno-strict-aliasing",
        "-fwrapv",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fno-stack-protector",
        "-fno-asynchronous-unwind-tables",
        "-fno-threadsafe-statics",
        "-fstack-clash-protection",
#if defined(__x86_64__)
        "-mno-red-zone", // so that a frame tells what a thread holds (emu_module.c)
#endif
    };
    static const char *const gcc_flags[] = {
        "-fno-gnu-unique",
        "-fno-extern-tls-init",
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
    if (st_emu_checking())
        add_check_flags(to, compiler);
    int cc = 0;
    if (sscanf(job->arch, "%*[a-z]_%d", &cc) == 1 && cc > 0)
        add(to, st_format("-D__CUDA_ARCH__=%d", cc * 10));
    add(to, st_format("-ffile-prefix-map=%s/=", folder)); // messages and images name no folder
    add(to, st_format("-I%s", folder));
    add(to, st_format("-I%s", headers));
    add_options(to, job);
}

// --- dynamic shared memory ---------------------------------------------------------------------

static bool add_dynamic(void *context, const st_elf_symbol *symbol) {
    st_text *text = context;
    if (symbol->is_tls && symbol->is_undefined && symbol->name[0])
        st_text_addf(text, ".globl %s\n.type %s, %%tls_object\n%s:\n", symbol->name, symbol->name,
                     symbol->name);
    return true;
}

// Writes dynamic.s, which defines the undefined thread-local symbols of program.o; *any says
// whether there are some.
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

// Checking mode: bytes that belong to none behind each shared variable.
static st_code widen_shared(const char *folder, st_error *error) {
    st_text object;
    st_text_init(&object);
    char *path = st_format("%s/program.o", folder);
    st_code code = path ? st_text_read_file(&object, path, error)
                        : st_fail_memory(error, "compiling for the emulated device");
    if (!code) {
        st_elf_widen_tls(object.data, object.length, SHARED_GAP);
        code = write_file(folder, "program.o", object.data, object.length, error);
    }
    st_free(path);
    st_text_release(&object);
    return code;
}

// --- compiling ---------------------------------------------------------------------------------

// One run of the compiler with its arguments; *works says whether it was content.
static st_code run_step(arguments *list, st_text *log, bool *works, st_error *error) {
    int status = 0;
    if (list->failed)
        return st_fail(error, ST_FAILED, "give fewer options",
                       "too many options, or no memory, for the emulated device's compiler");
    st_code code = st_emu_run_program(list->list, log, &status, error);
    if (!code && WIFSIGNALED(status))
        st_text_addf(log, "the compiler was ended by signal %d\n", WTERMSIG(status));
    *works = !code && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!code && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return st_fail(error, ST_NOTHING, ST_EMU_COMPILER_REMEDY,
                       "the emulated device's compiler %s does not run", list->list[0]);
    return code;
}

static st_code compile_in(const char *folder, const st_emu_host_compiler *compiler,
                          const char *headers, const st_compile_job *job, st_text *log, bool *works,
                          st_error *error) {
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
    if (!code && *works && st_emu_checking())
        code = widen_shared(folder, error);
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

// *top is the fresh folder, *folder the one in it for the program; both owned by the caller.
static st_code make_folders(char **top, char **folder, st_error *error) {
    const char *base = getenv("TMPDIR");
    char *made = st_format("%s/simtune-emu-XXXXXX", base && base[0] ? base : "/tmp");
    if (!made)
        return st_fail_memory(error, "compiling for the emulated device");
    if (!mkdtemp(made)) {
        st_code code = st_fail(error, ST_FAILED, "name another folder in TMPDIR",
                               "cannot make %s: %s", made, strerror(errno));
        st_free(made);
        return code;
    }
    *top = made;
    *folder = st_format("%s/a/b/c", made); // FOLDERS_DEEP
    if (!*folder)
        return st_fail_memory(error, "compiling for the emulated device");
    return st_text_make_folder(*folder, error);
}

st_code st_emu_compile(const st_compile_job *job, st_compiled *out, st_error *error) {
    st_emu_host_compiler compiler;
    bool works = false;
    st_text log, headers;
    char *top = NULL, *folder = NULL;
    memset(out, 0, sizeof *out);
    out->id = job->id;
    out->outcome = ST_COMPILE_ERROR;
    st_text_init(&log);
    st_text_init(&headers);
    st_code code = st_emu_compiler(out->compiler, error);
    if (!code)
        code = st_emu_find_compiler(&compiler, error);
    if (!code)
        code = st_emu_header_folder(&headers, NULL, error);
    if (!code)
        code = make_folders(&top, &folder, error);
    if (!code)
        code = compile_in(folder, &compiler, headers.data, job, &log, &works, error);
    if (!code && works)
        code = take_image(folder, job, out, error);
    if (!code && works)
        out->outcome = ST_COMPILED;
    if (!code && !(out->log = clean_log(&log, folder)))
        code = st_fail_memory(error, "compiling for the emulated device");
    if (top)
        nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    st_free(top);
    st_free(folder);
    st_text_release(&log);
    st_text_release(&headers);
    if (code)
        st_compiled_release(out);
    return code;
}

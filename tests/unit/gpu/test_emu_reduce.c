// SPDX-License-Identifier: Apache-2.0
// templates/reduce.cu on the emulated device: every finish with every warp step and block step,
// several types and operations, on the sizes that break kernels and on bases off alignment, against
// a sum made here. All data are integers small enough that every order of adding gives the same
// float. And templates/support.cu: that its kernels compile and do what verification relies on.
#include "tests/unit/gpu/emu_fixture.h"

#include "tuner/base/text.h"

static const char *const finishes[] = {"two_pass",  "dependent", "cluster",
                                       "one_block", "ticket",    "atomic"};
static const char *const warp_steps[] = {"shuffle", "shared", "redux"};
static const char *const block_steps[] = {"serial", "shuffle", "direct"};
enum { TWO_PASS, DEPENDENT, CLUSTER, ONE_BLOCK, TICKET, ATOMIC, FINISHES };
// MOST + OFFSETS elements of any size end at a multiple of 256 bytes, where the guard begins.
enum { BLOCK = 128, BLOCKS = 12, CLUSTER_SIZE = 4, MOST = 66048 - 4, OFFSETS = 4 };

typedef struct choice {
    int finish, warp, step, vec, order;
} choice;
typedef struct problem {
    const char *type; // spelling in the template
    size_t size;
    const char *operation;
    bool is_float, redux;
} problem;

static void add_shipped(st_text *out, const char *relative) {
    char path[512];
    st_text file;
    snprintf(path, sizeof path, "%s/%s", SIMTUNE_SOURCE_FOLDER, relative);
    st_text_init(&file);
    must(st_text_read_file(&file, path, &error));
    st_text_add(out, file.data);
    st_text_release(&file);
}

// Everything that the template allows: direct block steps only with the finishes that know them.
static size_t list_choices(choice *out, const problem *of) {
    size_t n = 0;
    for (int finish = 0; finish < FINISHES; finish++)
        for (int warp = 0; warp < (of->redux ? 3 : 2); warp++)
            for (int step = 0; step < (finish <= CLUSTER ? 3 : 2); step++, n++)
                out[n] = (choice){finish, warp, step,
                                  n % 3 == 0      ? 1
                                  : of->size == 8 ? 2
                                                  : 4,
                                  (int)(n % 2)};
    return n;
}

static const char *const kernels_of_finish[FINISHES][2] = {
    [TWO_PASS] = {"reduce_blocks", "reduce_partials"},
    [DEPENDENT] = {"reduce_blocks", "reduce_partials"},
    [CLUSTER] = {"reduce_cluster"},
    [ONE_BLOCK] = {"reduce_one_block"},
    [TICKET] = {"reduce_ticket"},
    [ATOMIC] = {"reduce_atomic"},
};

static char *kernel_name(const choice *of, size_t number, int which) {
    return st_format("simtune::%s<config_%zu>", kernels_of_finish[of->finish][which], number);
}

static program compile_reduce(const problem *of, const choice *choices, size_t count) {
    st_text source, device;
    const char *names[256];
    size_t n = 0;
    st_text_init(&source);
    st_text_init(&device);
    add_shipped(&source, "templates/reduce.cu");
    add_shipped(&device, "templates/simtune_device.cuh");
    st_text_add(&source, "\nusing namespace simtune;\n");
    for (size_t i = 0; i < count; i++) {
        const choice *c = &choices[i];
        st_text_addf(
            &source,
            "struct config_%zu { typedef %s T; static const int op = op_%s, BLOCK = %d, VEC = %d,"
            " UNROLL = 2, ACC = 2, LOAD = LOAD_plain, ORDER = ORDER_%s, MIN_BLOCKS = 1,"
            " WARP = WARP_%s, BLOCK_STEP = BLOCK_STEP_%s, FINISH = FINISH_%s, CLUSTER = %d; };\n",
            i, of->type, of->operation, BLOCK, c->vec, c->order ? "interleaved" : "batched",
            warp_steps[c->warp], block_steps[c->step], finishes[c->finish],
            c->finish == CLUSTER ? CLUSTER_SIZE : 1);
        names[n++] = kernel_name(c, i, 0);
        if (kernels_of_finish[c->finish][1])
            names[n++] = kernel_name(c, i, 1);
    }
    st_source_text include = {"simtune_device.cuh", device.data};
    st_compiled compiled = compile_with(st_text_string(&source), names, n, &include, 1, NULL, 0);
    assert_int_equal(compiled.outcome, ST_COMPILED);
    program made = {0};
    must(OPS->open(0, &made.gpu, &error));
    must(OPS->load(made.gpu, compiled.image, compiled.image_bytes, &made.module, &error));
    for (size_t i = 0; i < n; i++)
        st_free((char *)names[i]);
    st_compiled_release(&compiled);
    st_text_release(&source);
    st_text_release(&device);
    return made;
}

static st_gpu_kernel *find_kernel(program *p, const choice *c, size_t number, int which) {
    st_gpu_kernel *found = NULL;
    char *name = kernel_name(c, number, which);
    must(OPS->kernel(p->gpu, p->module, name, &found, &error));
    st_free(name);
    return found;
}

typedef struct buffers {
    st_gpu_pointer in, out, partial, state;
} buffers;

// Queues what the template's directives say for this finish.
static void run_choice(program *p, const choice *c, size_t number, const buffers *b, size_t offset,
                       size_t size, uint64_t n) {
    st_gpu_pointer in = b->in + offset * size;
    uint64_t share =
        number % 2 && c->finish != ONE_BLOCK
            ? (n / (uint64_t)c->vec / BLOCK / (c->finish == CLUSTER ? CLUSTER_SIZE : BLOCKS) + 1) *
                  BLOCK
            : 0;
    st_launch first = {.kernel = find_kernel(p, c, number, 0),
                       .grid = {c->finish == ONE_BLOCK ? 1
                                : c->finish == CLUSTER ? CLUSTER_SIZE
                                                       : BLOCKS},
                       .block = {BLOCK},
                       .cluster = c->finish == CLUSTER ? CLUSTER_SIZE : 1};
    if (c->finish == TWO_PASS || c->finish == DEPENDENT) {
        uint64_t partials = (uint64_t)BLOCKS * (c->step == 2 ? BLOCK / 32 : 1);
        argument a[] = {P(in), P(b->partial), P(n), P(share)};
        argument d[] = {P(b->partial), P(b->out), P(partials)};
        must(queue_full(p, first, a, 4));
        must(queue_full(p,
                        (st_launch){.kernel = find_kernel(p, c, number, 1),
                                    .block = {64},
                                    .dependent = c->finish == DEPENDENT},
                        d, 3));
    } else if (c->finish == CLUSTER) {
        argument a[] = {P(in), P(b->out), P(n), P(share)};
        must(queue_full(p, first, a, 4));
    } else if (c->finish == ONE_BLOCK) {
        argument a[] = {P(in), P(b->out), P(n)};
        must(queue_full(p, first, a, 3));
    } else if (c->finish == TICKET) {
        argument a[] = {P(in), P(b->out), P(b->partial), P(b->state), P(n), P(share)};
        must(OPS->fill8(p->gpu, b->state, 0, 16, &error));
        must(queue_full(p, first, a, 6));
    } else {
        argument a[] = {P(in), P(b->out), P(b->state), P(n), P(share)};
        must(OPS->fill8(p->gpu, b->state, 0, 16, &error));
        must(OPS->fill8(p->gpu, b->out, 0, size, &error));
        must(queue_full(p, first, a, 5));
    }
}

// Values of one type, made and read as numbers that are exact in it.
static void put(const problem *of, void *at, size_t i, int value) {
    if (strcmp(of->type, "float") == 0)
        ((float *)at)[i] = (float)value;
    else if (strcmp(of->type, "double") == 0)
        ((double *)at)[i] = value;
    else if (strcmp(of->type, "simtune_bfloat16") == 0) {
        float wide = (float)value;
        uint32_t bits;
        memcpy(&bits, &wide, 4);
        ((uint16_t *)at)[i] = (uint16_t)(bits >> 16);
    } else if (of->size == 4)
        ((int32_t *)at)[i] = value;
    else
        ((int64_t *)at)[i] = value;
}

static double get(const problem *of, const void *at) {
    if (strcmp(of->type, "float") == 0)
        return *(const float *)at;
    if (strcmp(of->type, "double") == 0)
        return *(const double *)at;
    if (strcmp(of->type, "simtune_bfloat16") == 0) {
        uint32_t bits = (uint32_t) * (const uint16_t *)at << 16;
        float wide;
        memcpy(&wide, &bits, 4);
        return wide;
    }
    if (strcmp(of->type, "int") == 0)
        return *(const int32_t *)at;
    return (double)*(const int64_t *)at;
}

// What an element is: sparse, so that sums stay small, and with one extreme in the last place.
static int value_at(const problem *of, size_t i) {
    int value = i % 17 == 3 ? (int)(i % 5) - 2 : i % 1000 == 0 ? 3 : 0;
    return strcmp(of->type, "u64") == 0 || strcmp(of->type, "u32") == 0 ? value & 7 : value;
}

static double expected(const problem *of, const int *values, size_t n) {
    bool sum = strcmp(of->operation, "sum") == 0, max = strcmp(of->operation, "max") == 0;
    double result = sum ? 0 : values[0];
    for (size_t i = 0; i < n; i++)
        result = sum   ? result + values[i]
                 : max ? (values[i] > result ? values[i] : result)
                       : (values[i] < result ? values[i] : result);
    return result;
}

static void check_problem(const problem *of) {
    static const size_t sizes[] = {0, 1, 31, 32, 33, 127, 128, 129, 1000, 4096, 65537};
    static int values[MOST];
    static uint64_t data[MOST + OFFSETS];
    choice choices[128];
    size_t count = list_choices(choices, of), checked = 0;
    program p = compile_reduce(of, choices, count);
    buffers b = {.in = device_buffer(&p, (MOST + OFFSETS) * of->size),
                 .out = device_buffer(&p, 8),
                 .partial = device_buffer(&p, BLOCKS * 32 * 8),
                 .state = device_buffer(&p, 16)};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s], offset = s % OFFSETS;
        if (n == 0 && strcmp(of->operation, "sum") != 0)
            continue; // the identity; not a number that we could write down here
        // Around the input stands what would show: the value that no element has, or, every other
        // time, nothing: it ends where the device's memory does.
        size_t capacity = MOST + OFFSETS;
        if (s % 2)
            offset = capacity - n;
        for (size_t i = 0; i < capacity; i++)
            put(of, data, i, 99);
        for (size_t i = 0; i < n; i++) {
            values[i] = value_at(of, i);
            put(of, data, offset + i, values[i]);
        }
        if (n) {
            values[n - 1] = strcmp(of->operation, "max") == 0   ? 7
                            : strcmp(of->operation, "min") == 0 ? -9
                                                                : 1;
            put(of, data, offset + n - 1, values[n - 1]);
        }
        must(OPS->copy_in(p.gpu, b.in, data, capacity * of->size, &error));
        double want = expected(of, values, n);
        for (size_t i = 0; i < count; i++) {
            if (choices[i].finish == ONE_BLOCK && n > 5000)
                continue;
            uint64_t raw = 0;
            checked++;
            must(OPS->fill8(p.gpu, b.out, 0xff, 8, &error));
            must(OPS->fill8(p.gpu, b.partial, 0xff, BLOCKS * 32 * 8, &error));
            run_choice(&p, &choices[i], i, &b, offset, of->size, n);
            must(OPS->copy_out(p.gpu, &raw, b.out, of->size, &error));
            double got = get(of, &raw);
            if (got != want)
                print_error("%s %s n=%zu offset=%zu finish=%s warp=%s step=%s vec=%d: %g, not %g\n",
                            of->type, of->operation, n, offset, finishes[choices[i].finish],
                            warp_steps[choices[i].warp], block_steps[choices[i].step],
                            choices[i].vec, got, want);
            assert_true(got == want);
        }
    }
    print_message("%s %s: %zu runs of %zu configurations\n", of->type, of->operation, checked,
                  count);
    close_program(&p);
}

static void reduce_float_sum(void **state) {
    (void)state;
    check_problem(&(problem){"float", 4, "sum", true, false});
}
static void reduce_double_min(void **state) {
    (void)state;
    check_problem(&(problem){"double", 8, "min", true, false});
}
static void reduce_int_sum(void **state) {
    (void)state;
    check_problem(&(problem){"int", 4, "sum", false, true});
}
static void reduce_int_max(void **state) {
    (void)state;
    check_problem(&(problem){"int", 4, "max", false, true});
}
static void reduce_long_min(void **state) {
    (void)state;
    check_problem(&(problem){"long long", 8, "min", false, false});
}
static void reduce_bfloat16_max(void **state) {
    (void)state;
    check_problem(&(problem){"simtune_bfloat16", 2, "max", true, false});
}

// --- templates/support.cu ----------------------------------------------------------------------

static void support_kernels(void **state) {
    (void)state;
    static const char *const kernels[] = {"simtune_support_fill",   "simtune_support_compare",
                                          "simtune_support_report", "simtune_support_check",
                                          "simtune_support_flush",  "simtune_support_read",
                                          "simtune_support_copy",   "simtune_support_gate"};
    enum { COUNT = sizeof kernels / sizeof *kernels };
    st_text source;
    st_text_init(&source);
    add_shipped(&source, "templates/support.cu");
    program p = open_program(source.data, kernels, COUNT);
    st_text_release(&source);
    // The gate opens when the host says so, and lets the copy behind it through.
    st_gpu_kernel *gate, *copy;
    void *host;
    st_gpu_pointer flag, from = device_buffer(&p, 4096), to = device_buffer(&p, 4096);
    must(OPS->kernel(p.gpu, p.module, "simtune_support_gate", &gate, &error));
    must(OPS->kernel(p.gpu, p.module, "simtune_support_copy", &copy, &error));
    must(OPS->allocate_mapped(p.gpu, 64, &host, &flag, &error));
    *(volatile int *)host = 0;
    must(OPS->fill8(p.gpu, from, 0x5a, 4096, &error));
    argument g[] = {P(flag), P(1ull << 60)}, c[] = {P(to), P(from), P(256)};
    must(queue_full(&p, (st_launch){.kernel = gate}, g, 2));
    must(queue_full(&p, (st_launch){.kernel = copy, .grid = {2}, .block = {256}}, c, 3));
    bool done;
    must(OPS->query(p.gpu, &done, &error));
    assert_false(done);
    *(volatile int *)host = 1;
    uint8_t bytes[4096];
    must(OPS->copy_out(p.gpu, bytes, to, 4096, &error));
    for (int i = 0; i < 4096; i++)
        assert_int_equal(bytes[i], 0x5a);
    // A gate that nobody opens gives up after its limit.
    *(volatile int *)host = 0;
    g[1] = (argument)P(100000);
    must(queue_full(&p, (st_launch){.kernel = gate}, g, 2));
    must(OPS->synchronize(p.gpu, &error));
    close_program(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_float_sum), cmocka_unit_test(reduce_double_min),
        cmocka_unit_test(reduce_int_sum),   cmocka_unit_test(reduce_int_max),
        cmocka_unit_test(reduce_long_min),  cmocka_unit_test(reduce_bfloat16_max),
        cmocka_unit_test(support_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

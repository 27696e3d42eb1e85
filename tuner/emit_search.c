// SPDX-License-Identifier: Apache-2.0
// What the choices of all functions of a header share: the expression functions, the facts of a
// class, and the search for a row. C11 and C++11; in C++ it stands in the header's namespace.
#include "tuner/emit_internal.h"

#include <string.h>

// --- what all functions of the header share ------------------------------------------------------

static void add_facts(const st_emit_model *model, st_text *out)
{
    st_text_addf(
        out,
        "/* What is asked of a device. code_cc: what the code was compiled for, at most cc. */\n"
        "typedef struct %s_facts {\n    long long code_cc;\n",
        model->base);
    for (size_t i = 0; i < st_emit_fact_count(); i++)
        if (model->fact_used[i])
            st_text_addf(out, "    long long %s;\n", st_emit_fact_of(i)->field);
    st_text_addf(out, "    int complete; /* 0: only what the class tells */\n} %s_facts;\n\n",
                 model->base);
    st_text_addf(out,
                 "SIMTUNE_INLINE_ %s_facts %s_facts_of_class(int cc, int sm_count)\n{\n"
                 "    %s_facts facts;\n    facts.code_cc = cc;\n",
                 model->base, model->base, model->base);
    for (size_t i = 0; i < st_emit_fact_count(); i++) {
        const st_emit_fact *fact = st_emit_fact_of(i);
        if (model->fact_used[i])
            st_text_addf(out, "    facts.%s = %s;\n", fact->field,
                         fact->of_class ? fact->of_class : "0");
    }
    st_text_add(out, "    facts.complete = 0;\n    return facts;\n}\n\n");
}

// clang-format off
// With one size the rows of a class stand by size.
static const char one_size_text[] =
    "/* The row of the recorded size nearest on a log scale, as `from` says (the boundary between two sizes is\n"
    "   their geometric mean); where the device cannot hold it, the next nearest. -1: none. */\n"
    "SIMTUNE_INLINE_ int $_search_rows(const $_class *it, const $_row *rows, const $_facts *facts,\n"
    "                                  const long long *sizes)\n"
    "{\n"
    "    const int first = it->first, last = it->first + it->count - 1;\n"
    "    int low, high = last, row;\n"
    "    while (high > first && sizes[0] < rows[high].from)\n"
    "        high--;\n"
    "    if ($_holds(&rows[high], facts, sizes))\n"
    "        return high;\n"
    "    low = high - 1;\n"
    "    high++;\n"
    "    while (low >= first || high <= last) {\n"
    "        if (high > last || (low >= first && (double)sizes[0] * (double)sizes[0] <\n"
    "                                                (double)rows[low].size[0] * (double)rows[high].size[0]))\n"
    "            row = low--;\n"
    "        else\n"
    "            row = high++;\n"
    "        if ($_holds(&rows[row], facts, sizes))\n"
    "            return row;\n"
    "    }\n"
    "    return -1;\n"
    "}\n"
    "\n";

static const char sizes_text[] =
    "/* log2 of a size in 1/65536, linear between powers of two. */\n"
    "SIMTUNE_INLINE_ long long $_log2(long long size)\n"
    "{\n"
    "    int bit = 0, step;\n"
    "    long long rest;\n"
    "    if (size < 1)\n"
    "        size = 1;\n"
    "    for (step = 32; step > 0; step /= 2)\n"
    "        if (size >> (bit + step) > 0)\n"
    "            bit += step;\n"
    "    rest = size - ((long long)1 << bit);\n"
    "    return ((long long)bit << 16) + (bit > 16 ? rest >> (bit - 16) : rest << (16 - bit));\n"
    "}\n"
    "\n"
    "/* How far a recorded row is from the sizes asked for: the sum of the distances on log scales. */\n"
    "SIMTUNE_INLINE_ long long $_row_distance(const long long *recorded, const long long *sizes)\n"
    "{\n"
    "    long long distance = 0, one;\n"
    "    int axis;\n"
    "    for (axis = 0; axis < AXES; axis++) {\n"
    "        one = $_log2(sizes[axis]) - $_log2(recorded[axis]);\n"
    "        distance += one < 0 ? -one : one;\n"
    "    }\n"
    "    return distance;\n"
    "}\n"
    "\n"
    "/* The nearest row that the device can hold. -1: none. */\n"
    "SIMTUNE_INLINE_ int $_search_rows(const $_class *it, const $_row *rows, const $_facts *facts,\n"
    "                                  const long long *sizes)\n"
    "{\n"
    "    long long done = -1;\n"
    "    int tried, i, row = 0;\n"
    "    for (tried = 0; tried < it->count; tried++) {\n"
    "        long long nearest = -1;\n"
    "        for (i = 0; i < it->count; i++) {\n"
    "            long long key = $_row_distance(rows[it->first + i].size, sizes) * it->count + i;\n"
    "            if (key > done && (nearest < 0 || key < nearest)) {\n"
    "                nearest = key;\n"
    "                row = it->first + i;\n"
    "            }\n"
    "        }\n"
    "        done = nearest;\n"
    "        if ($_holds(&rows[row], facts, sizes))\n"
    "            return row;\n"
    "    }\n"
    "    return -1;\n"
    "}\n"
    "\n";

// Printed with $ for the base name.
static const char search_text[] =
    "/* The same compute capability first, then one of the same generation, then the nearest older one, then a\n"
    "   newer; among equals the nearest SM count. */\n"
    "SIMTUNE_INLINE_ long long $_class_distance(const $_class *known, const $_facts *facts)\n"
    "{\n"
    "    long long cc = facts->cc - known->cc, sms = facts->sm_count - known->sm_count;\n"
    "    if (facts->cc / 10 != known->cc / 10)\n"
    "        cc = cc < 0 ? 100000 - cc : 1000 + cc;\n"
    "    cc = cc < 0 ? -2 * cc : 2 * cc + (cc > 0);\n"
    "    sms = sms < 0 ? -sms : sms;\n"
    "    return cc * 65536 + (sms < 65535 ? sms : 65535);\n"
    "}\n"
    "\n"
    "ROWS"
    "/* The first row whose constraints hold, in the classes from the nearest on. -1: none. */\n"
    "SIMTUNE_INLINE_ int $_search(const $_table *table, const $_facts *facts, const long long *sizes)\n"
    "{\n"
    "    long long done = -1;\n"
    "    int tried;\n"
    "    for (tried = 0; tried < table->class_count; tried++) {\n"
    "        long long best = -1;\n"
    "        int i, row, found = 0;\n"
    "        for (i = 0; i < table->class_count; i++) {\n"
    "            long long key = $_class_distance(&table->classes[i], facts) * table->class_count + i;\n"
    "            if (key > done && (best < 0 || key < best)) {\n"
    "                best = key;\n"
    "                found = i;\n"
    "            }\n"
    "        }\n"
    "        done = best;\n"
    "        row = $_search_rows(&table->classes[found], table->rows, facts, sizes);\n"
    "        if (row >= 0)\n"
    "            return row;\n"
    "    }\n"
    "    return -1;\n"
    "}\n"
    "\n"
    "/* For the class of `facts` its own rows, for another the nearest class whose constraints hold; at last\n"
    "   the row of the default configuration. -1: none. */\n"
    "SIMTUNE_INLINE_ int $_choose(const $_table *table, const $_facts *facts, const long long *sizes, int *exact)\n"
    "{\n"
    "    int i, row;\n"
    "    *exact = 1;\n"
    "    for (i = 0; i < table->class_count; i++) {\n"
    "        if (table->classes[i].cc != facts->cc || table->classes[i].sm_count != facts->sm_count)\n"
    "            continue;\n"
    "        row = $_search_rows(&table->classes[i], table->rows, facts, sizes);\n"
    "        if (row >= 0)\n"
    "            return row;\n"
    "        break;\n"
    "    }\n"
    "    *exact = 0;\n"
    "#ifdef SIMTUNE_NO_FALLBACK\n"
    "    return -1;\n"
    "#else\n"
    "    row = $_search(table, facts, sizes);\n"
    "    if (row < 0 && table->last >= 0 && $_holds(&table->rows[table->last], facts, sizes))\n"
    "        row = table->last;\n"
    "    return row;\n"
    "#endif\n"
    "}\n"
    "\n"
    "/* Sizes that no memory holds are one size, small enough to compute with. */\n"
    "SIMTUNE_INLINE_ long long $_size(size_t size)\n"
    "{\n"
    "    const unsigned long long most = 1ull << 48;\n"
    "    return (long long)(size < most ? size : most);\n"
    "}\n"
    "\n"
    "SIMTUNE_INLINE_ const simtune_config *$_config_of(const $_table *table, int cc, int sm_count,\n"
    "                                                  const long long *sizes)\n"
    "{\n"
    "    const $_facts facts = $_facts_of_class(cc, sm_count);\n"
    "    int exact = 0;\n"
    "    const int row = $_choose(table, &facts, sizes, &exact);\n"
    "    return row < 0 ? NULL : &table->configs[2 * row + !exact];\n"
    "}\n"
    "\n";

static const char table_text[] =
    "typedef struct $_class { int cc, sm_count, first, count; /* rows, which stand by size */ } $_class;\n"
    "typedef struct $_row {\n"
    "    long long size[AXES]; /* recorded */\n"
    "    long long from;    /* the smallest size that takes it */\n"
    "    unsigned long long wheres, limits, steps, lets; /* which of the template's it needs */\n"
    "    int kernels;       /* which of the function's */\n"
    "    long long value[COLUMNS];\n"
    "} $_row;\n"
    "typedef struct $_table {\n"
    "    const $_class *classes;\n"
    "    const $_row *rows;\n"
    "    const simtune_config *configs; /* two a row: exact, and borrowed */\n"
    "    int class_count, row_count, last; /* last: the default's, or -1 */\n"
    "} $_table;\n"
    "\n";
// clang-format on

static size_t at_least_one(size_t count)
{
    return count ? count : 1;
}

// $ is the base name, AXES the number of sizes, ROWS the search within a class, COLUMNS the numbers of a row.
static void add_text(const st_emit_model *model, const char *text, st_text *out)
{
    for (const char *at = text; *at;) {
        size_t span = strcspn(at, "$ARC");
        st_text_add_bytes(out, at, span);
        at += span;
        if (*at == '$') {
            st_text_add(out, model->base);
            at++;
        } else if (strncmp(at, "AXES", 4) == 0) {
            st_text_addf(out, "%zu", at_least_one(model->size_count));
            at += 4;
        } else if (strncmp(at, "COLUMNS", 7) == 0) {
            st_text_addf(out, "%zu", at_least_one(model->shared.column_count));
            at += 7;
        } else if (strncmp(at, "ROWS", 4) == 0) {
            add_text(model, model->size_count == 1 ? one_size_text : sizes_text, out);
            at += 4;
        } else if (*at) {
            st_text_add_bytes(out, at++, 1);
        }
    }
}

void st_emit_choice_common(const st_emit_model *model, bool searches, st_text *out)
{
    if (searches) {
        add_text(model, search_text, out);
        return;
    }
    st_text_add(out, "#if defined(__cplusplus) || !defined(SIMTUNE_EXPRESSIONS_1)\n"
                     "#define SIMTUNE_EXPRESSIONS_1\n");
    st_text_add(out, st_expression_cxx_functions());
    st_text_add(out, "#endif\n\n");
    add_facts(model, out);
    add_text(model, table_text, out);
}

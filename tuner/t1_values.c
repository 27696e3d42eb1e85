// SPDX-License-Identifier: Apache-2.0
// Lists of values, computed as Python does: // and % round toward minus infinity.
#include "tuner/base/memory.h"
#include "tuner/t1_internal.h"

#include <string.h>

void st_t1_list_release(st_t1_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        st_free(list->items[i].word);
    st_free(list->items);
    *list = (st_t1_list){0};
}

bool st_t1_list_add(st_t1_list *list, int64_t number, const char *word, size_t word_length)
{
    st_t1_value *items = st_grow(list->items, &list->capacity, list->count + 1, sizeof *items);
    char *copy = word ? st_strndup(word, word_length) : NULL;
    if (items)
        list->items = items;
    if (!items || (word && !copy)) {
        st_free(copy);
        return false;
    }
    items[list->count++] = (st_t1_value){number, copy};
    return true;
}

// A loop's name and what it stands for.
typedef struct binding {
    const char *name;
    size_t length;
    int64_t value;
    const struct binding *outer;
} binding;

static bool is_name(const t1_node *node, const char *name)
{
    return strlen(name) == node->length && strncmp(node->text, name, node->length) == 0;
}

static st_code number_of(t1_reader *from, int at, const binding *names, int64_t *out);
static st_code list_of(t1_reader *from, int at, const binding *names, st_t1_list *out);

static st_code power(t1_reader *from, int64_t base, int64_t exponent, int64_t *out)
{
    *out = 1;
    if (exponent < 0)
        return st_t1_refuse(from, NULL, "a power below 0 is no integer");
    bool over = exponent > 64 && (base > 1 || base < -1);
    if (exponent > 64) // of -1, 0 and 1
        exponent = 2 + exponent % 2;
    for (int64_t i = 0; i < exponent && !over; i++)
        over = __builtin_mul_overflow(*out, base, out);
    return over ? st_t1_refuse(from, NULL, "a number that does not fit 64 bits") : ST_OK;
}

static st_code divide(t1_reader *from, const char *operation, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return st_t1_refuse(from, NULL, "a division by zero");
    if (b == -1)
        return __builtin_sub_overflow((int64_t)0, a, out)
                   ? st_t1_refuse(from, NULL, "a number that does not fit 64 bits")
               : *operation == '%' ? (*out = 0, ST_OK)
                                   : ST_OK;
    bool moved = a % b != 0 && (a < 0) != (b < 0);
    if (*operation == '%')
        *out = a % b + (moved ? b : 0);
    else if (operation[1])
        *out = a / b - moved;
    else if (a % b == 0)
        *out = a / b;
    else
        return st_t1_refuse(from, "Write // for the integer below.",
                            "a quotient that is no integer");
    return ST_OK;
}

static st_code compute(t1_reader *from, const char *operation, int64_t a, int64_t b, int64_t *out)
{
    bool over = false;
    switch (*operation) {
    case '+':
        over = __builtin_add_overflow(a, b, out);
        break;
    case '-':
        over = __builtin_sub_overflow(a, b, out);
        break;
    case '*':
        if (operation[1])
            return power(from, a, b, out);
        over = __builtin_mul_overflow(a, b, out);
        break;
    case '/':
    case '%':
        return divide(from, operation, a, b, out);
    case '<':
        *out = operation[1] ? a <= b : a < b;
        break;
    case '>':
        *out = operation[1] ? a >= b : a > b;
        break;
    case '=':
        *out = a == b;
        break;
    case '!':
        *out = a != b;
        break;
    case 'a':
        *out = a && b;
        break;
    case 'o':
        *out = a || b;
        break;
    default:
        return st_t1_refuse(from, "Write the values out.",
                            "this is not computed in a list of values");
    }
    return over ? st_t1_refuse(from, NULL, "a number that does not fit 64 bits") : ST_OK;
}

static st_code binary(t1_reader *from, const t1_node *node, const binding *names, int64_t *out)
{
    int64_t a, b = 0;
    st_code code = number_of(from, node->left, names, &a);
    if (code == ST_OK && strcmp(node->operation, "neg") == 0)
        return compute(from, "-", 0, a, out);
    if (code == ST_OK && strcmp(node->operation, "not") == 0)
        return compute(from, "==", a, 0, out);
    // What a side that is not looked at would fail with does not count.
    if (code == ST_OK && ((*node->operation == 'a' && !a) || (*node->operation == 'o' && a))) {
        *out = a != 0;
        return ST_OK;
    }
    if (code == ST_OK)
        code = number_of(from, node->right, names, &b);
    return code == ST_OK ? compute(from, node->operation, a, b, out) : code;
}

static st_code call(t1_reader *from, const t1_node *node, const binding *names, int64_t *out)
{
    bool least = is_name(node, "min"), most = is_name(node, "max"), whole = is_name(node, "int");
    if (!least && !most && !whole)
        return st_t1_refuse(from, "min, max, int, range and list are known.",
                            "an unknown function");
    st_code code =
        node->left < 0 ? st_t1_refuse(from, NULL, "a function without arguments") : ST_OK;
    for (int item = node->left; item >= 0 && code == ST_OK; item = from->nodes[item].right) {
        int64_t value;
        code = number_of(from, from->nodes[item].left, names, &value);
        if (code == ST_OK &&
            (item == node->left || (least && value < *out) || (most && value > *out)))
            *out = value;
    }
    return code;
}

static st_code number_of(t1_reader *from, int at, const binding *names, int64_t *out)
{
    const t1_node *node = &from->nodes[at];
    if (++from->steps > T1_MOST_STEPS)
        return st_t1_refuse(from, "Write the values out.", "a list that takes too long to compute");
    switch (node->kind) {
    case T1_NUMBER:
        *out = node->number;
        return ST_OK;
    case T1_BINARY:
        return binary(from, node, names, out);
    case T1_CALL:
        return call(from, node, names, out);
    case T1_NAME:
        for (; names; names = names->outer)
            if (names->length == node->length &&
                strncmp(names->name, node->text, node->length) == 0) {
                *out = names->value;
                return ST_OK;
            }
        return st_t1_refuse(from,
                            "Values stand by themselves: only the name behind `for` is known.",
                            "an unknown name");
    default:
        return st_t1_refuse(from, NULL, "a list or a text where a number is needed");
    }
}

static st_code add(t1_reader *from, st_t1_list *out, int64_t number, const char *word,
                   size_t length)
{
    if (out->count >= T1_MOST_VALUES)
        return st_t1_refuse(from, NULL, "more than 65536 values");
    return st_t1_list_add(out, number, word, length)
               ? ST_OK
               : st_fail_memory(from->error, "reading values");
}

static st_code range(t1_reader *from, const t1_node *node, const binding *names, st_t1_list *out)
{
    int64_t given[3] = {0, 0, 1}, count = 0;
    st_code code = ST_OK;
    for (int item = node->left; item >= 0 && code == ST_OK; item = from->nodes[item].right)
        code = count == 3 ? st_t1_refuse(from, NULL, "`range` takes three numbers at most")
                          : number_of(from, from->nodes[item].left, names, &given[count++]);
    if (code == ST_OK && (!count || (count == 3 && given[2] == 0)))
        code = st_t1_refuse(from, NULL, "`range` without numbers, or with a step of 0");
    int64_t begin = count > 1 ? given[0] : 0, end = count > 1 ? given[1] : given[0],
            step = given[2];
    for (int64_t i = begin; code == ST_OK && (step > 0 ? i < end : i > end);) {
        code = add(from, out, i, NULL, 0);
        if (__builtin_add_overflow(i, step, &i))
            break;
    }
    return code;
}

static st_code each(t1_reader *from, const t1_node *node, const binding *names, st_t1_list *out)
{
    st_t1_list over = {0};
    const t1_node of = *node; // the array of nodes does not move while it is walked
    st_code code = list_of(from, of.right, names, &over);
    for (size_t i = 0; i < over.count && code == ST_OK; i++) {
        const binding inner = {of.text, of.length, over.items[i].number, names};
        int64_t holds = 1, value;
        if (over.items[i].word)
            code = st_t1_refuse(from, "Write the values out.", "a loop over texts is not computed");
        if (code == ST_OK && of.third >= 0)
            code = number_of(from, of.third, &inner, &holds);
        if (code == ST_OK && holds)
            code = number_of(from, of.left, &inner, &value);
        if (code == ST_OK && holds)
            code = add(from, out, value, NULL, 0);
    }
    st_t1_list_release(&over);
    return code;
}

static st_code list_of(t1_reader *from, int at, const binding *names, st_t1_list *out)
{
    const t1_node *node = &from->nodes[at];
    st_code code = ST_OK;
    if (node->kind == T1_EACH)
        return each(from, node, names, out);
    if (node->kind == T1_CALL && is_name(node, "range"))
        return range(from, node, names, out);
    if (node->kind == T1_CALL && is_name(node, "list") && node->left >= 0 &&
        from->nodes[node->left].right < 0)
        return list_of(from, from->nodes[node->left].left, names, out);
    if (node->kind == T1_BINARY && strcmp(node->operation, "+") == 0) {
        code = list_of(from, node->left, names, out);
        return code == ST_OK ? list_of(from, node->right, names, out) : code;
    }
    if (node->kind != T1_LIST)
        return st_t1_refuse(from, "Write [1, 2, 4], or [2 * i for i in range(1, 9)].",
                            "this is no list");
    for (int item = node->left; item >= 0 && code == ST_OK; item = from->nodes[item].right) {
        const t1_node *value = &from->nodes[from->nodes[item].left];
        int64_t number = 0;
        bool word = value->kind == T1_STRING;
        if (!word)
            code = number_of(from, from->nodes[item].left, names, &number);
        if (code == ST_OK)
            code = add(from, out, number, word ? value->text : NULL, word ? value->length : 0);
    }
    return code;
}

st_code st_t1_values(const char *text, const char *place, st_t1_list *out, st_error *error)
{
    t1_reader from;
    int root;
    *out = (st_t1_list){0};
    st_code code = st_t1_read(&from, text, place, &root, error);
    if (code == ST_OK)
        code = list_of(&from, root, NULL, out);
    st_t1_reader_release(&from);
    return code;
}

// SPDX-License-Identifier: Apache-2.0
// `rival PARAM=VALUE …`: values that people ask about. A run races the best configuration that has one with
// the winner, counts it, and says why it is slower.
#include "tuner/base/memory.h"
#include "tuner/template_internal.h"

#include <string.h>

static st_code add_rival(st_loader *loader, int parameter, int64_t value)
{
    st_template *t = loader->tmpl;
    for (size_t i = 0; i < t->rival_count; i++)
        if (t->rivals[i].parameter == parameter && t->rivals[i].value == value)
            return st_loader_fail(loader, "Remove one.", "a rival that stands twice");
    if (t->rival_count == ST_MAX_RIVALS)
        return st_loader_fail(loader, "Name those that people ask about.", "more than %d rivals", ST_MAX_RIVALS);
    t->rivals[t->rival_count++] = (st_rival){parameter, value};
    return ST_OK;
}

st_code st_read_rivals(st_loader *loader)
{
    st_template *t = loader->tmpl;
    const char *text = loader->at->rest;
    const char *names[ST_MAX_PARAMETERS];
    char token[128], remedy[256];
    st_code code = ST_OK;
    for (size_t i = 0; i < t->parameter_count; i++)
        names[i] = t->parameters[i].name;
    while (code == ST_OK && st_next_token(&text, token, sizeof token)) {
        char *equals = strchr(token, '=');
        if (!equals || equals == token || !equals[1])
            return st_loader_fail(loader, "Write PARAM=VALUE without blanks.", "`%s` is no rival", token);
        *equals = '\0';
        int index = st_template_parameter(t, token);
        if (index < 0) {
            st_loader_suggest(token, names, t->parameter_count, "parameters", remedy, sizeof remedy);
            return st_loader_fail(loader, remedy, "the rival names an unknown parameter `%s`", token);
        }
        st_error inner = {0};
        int64_t value;
        if (st_parameter_value(t, index, equals + 1, &value, &inner) != ST_OK)
            return st_loader_fail(loader, inner.remedy, "%s", inner.what);
        code = add_rival(loader, index, value);
    }
    return code;
}

// SPDX-License-Identifier: Apache-2.0
// Reads the symbols of ELF objects that the host compiler made for us: which dynamic shared arrays
// an object wants, how much static shared memory a program has, how large a kernel's code is. Every
// offset is checked against the size of the image.
#include "tuner/gpu/emu_internal.h"

#include <elf.h>
#include <string.h>

#define NOT_AN_OBJECT "compile the program again"

static const Elf64_Ehdr *header_of(const void *image, size_t bytes) {
    const Elf64_Ehdr *header = image;
    if (bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64)
        return NULL;
    if (header->e_shoff > bytes || header->e_phoff > bytes ||
        (header->e_shnum && header->e_shentsize != sizeof(Elf64_Shdr)) ||
        (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr)) ||
        (bytes - header->e_shoff) / sizeof(Elf64_Shdr) < header->e_shnum ||
        (bytes - header->e_phoff) / sizeof(Elf64_Phdr) < header->e_phnum)
        return NULL;
    return header;
}

static bool inside(const Elf64_Shdr *section, size_t bytes) {
    return section->sh_offset <= bytes && section->sh_size <= bytes - section->sh_offset;
}

st_code st_elf_symbols(const void *image, size_t bytes,
                       bool (*visit)(void *context, const st_elf_symbol *symbol), void *context,
                       st_error *error) {
    const Elf64_Ehdr *header = header_of(image, bytes);
    if (!header)
        return st_fail(error, ST_FAILED, NOT_AN_OBJECT,
                       "the emulated program of %zu bytes is not an object of this machine", bytes);
    const Elf64_Shdr *sections = (const Elf64_Shdr *)((const char *)image + header->e_shoff);
    for (unsigned s = 0; s < header->e_shnum; s++) {
        const Elf64_Shdr *table = &sections[s];
        if (table->sh_type != SHT_SYMTAB)
            continue;
        if (table->sh_link >= header->e_shnum || !inside(table, bytes) ||
            !inside(&sections[table->sh_link], bytes))
            return st_fail(error, ST_FAILED, NOT_AN_OBJECT,
                           "the symbol table of the emulated program is damaged");
        const Elf64_Shdr *names = &sections[table->sh_link];
        const char *text = (const char *)image + names->sh_offset;
        if (names->sh_size == 0 || text[names->sh_size - 1] != 0)
            continue;
        const Elf64_Sym *symbols = (const Elf64_Sym *)((const char *)image + table->sh_offset);
        for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
            if (symbols[i].st_name >= names->sh_size)
                continue;
            st_elf_symbol symbol = {
                .name = text + symbols[i].st_name,
                .value = symbols[i].st_value,
                .size = symbols[i].st_size,
                .is_tls = ELF64_ST_TYPE(symbols[i].st_info) == STT_TLS,
                .is_undefined = symbols[i].st_shndx == SHN_UNDEF,
                .is_function = ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC,
            };
            if (!visit(context, &symbol))
                return ST_OK;
        }
    }
    return ST_OK;
}

void st_elf_widen_tls(void *image, size_t length, size_t bytes) {
    const Elf64_Ehdr *header = header_of(image, length);
    if (!header)
        return;
    Elf64_Shdr *sections = (Elf64_Shdr *)((char *)image + header->e_shoff);
    for (unsigned s = 0; s < header->e_shnum; s++)
        if (sections[s].sh_type == SHT_NOBITS && (sections[s].sh_flags & SHF_TLS) &&
            sections[s].sh_size > 0)
            sections[s].sh_size += bytes;
}

st_code st_elf_tls(const void *image, size_t bytes, size_t *size, size_t *align, st_error *error) {
    const Elf64_Ehdr *header = header_of(image, bytes);
    if (!header)
        return st_fail(error, ST_FAILED, NOT_AN_OBJECT,
                       "the emulated program of %zu bytes is not an object of this machine", bytes);
    const Elf64_Phdr *segments = (const Elf64_Phdr *)((const char *)image + header->e_phoff);
    *size = 0;
    *align = 1;
    for (unsigned s = 0; s < header->e_phnum; s++)
        if (segments[s].p_type == PT_TLS) {
            *size = segments[s].p_memsz;
            *align = segments[s].p_align > 1 ? segments[s].p_align : 1;
        }
    return ST_OK;
}

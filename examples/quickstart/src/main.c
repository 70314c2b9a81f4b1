/*
 * qs: runs a program in the Qs language.
 *
 *     qs SCRIPT [ARGUMENT...]      SCRIPT may be '-' for standard input
 */
#include "native.h"
#include "show.h"

#include <stdio.h>

static bool read_all(FILE *file, Buf *source)
{
    enum { CHUNK = 4096 };
    size_t n;
    while ((n = fread(buf_reserve(source, CHUNK), 1, CHUNK, file)) > 0)
        source->len += n;
    return !ferror(file);
}

static bool read_script(const char *path, Buf *source)
{
    if (path[0] == '-' && path[1] == '\0')
        return read_all(stdin, source);
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    bool ok = read_all(file, source);
    fclose(file);
    return ok;
}

static void set_arguments(Vm *vm, int argc, char **argv)
{
    List *list = list_new(&vm->heap, 0);
    for (int i = 0; i < argc; i++)
        list_push(&vm->heap, list, value_object(str_from_cstr(&vm->heap, argv[i])));
    vm_set_global(vm, "args", value_object(list));
}

static void report_error(Vm *vm)
{
    Buf message;
    buf_init(&message);
    show_value(&message, vm->error);
    vm_flush(vm);
    fprintf(stderr, "error: %s\n%s", buf_cstr(&message), buf_cstr(&vm->trace));
    buf_free(&message);
}

static bool run(Vm *vm, const Buf *source)
{
    Value function, result;
    return vm_compile(vm, source->data, source->len, &function) &&
           vm_call(vm, function, 0, NULL, &result);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: qs SCRIPT [ARGUMENT...]\n", stderr);
        return 2;
    }
    Buf source;
    buf_init(&source);
    if (!read_script(argv[1], &source)) {
        fprintf(stderr, "qs: cannot read %s\n", argv[1]);
        buf_free(&source);
        return 2;
    }
    Vm vm;
    vm_init(&vm);
    lib_define_all(&vm);
    set_arguments(&vm, argc - 2, argv + 2);
    bool ok = run(&vm, &source);
    if (ok)
        vm_flush(&vm);
    else
        report_error(&vm);
    vm_free(&vm);
    buf_free(&source);
    return ok ? 0 : 1;
}

/* The module `codec`: encodings, compression, checksums. */
#include "../src/native.h"

#include "../rt/codec.h"
#include "../rt/hash.h"
#include "../rt/huffman.h"
#include "../rt/lz.h"
#include "../rt/sha256.h"

typedef void (*Encoder)(Buf *out, const char *data, size_t len);
typedef bool (*Decoder)(Buf *out, const char *data, size_t len);

static bool encode(Vm *vm, const Value *argv, Value *result, Encoder encoder)
{
    Str *s;
    Buf out;
    if (!arg_str(vm, argv, 0, &s))
        return false;
    buf_init(&out);
    encoder(&out, s->data, s->len);
    return give_buf(vm, result, &out);
}

static bool decode(Vm *vm, const Value *argv, Value *result, Decoder decoder, const char *name)
{
    Str *s;
    Buf out;
    if (!arg_str(vm, argv, 0, &s))
        return false;
    buf_init(&out);
    if (decoder(&out, s->data, s->len))
        return give_buf(vm, result, &out);
    buf_free(&out);
    return vm_throw(vm, "malformed %s data", name);
}

static bool codec_base64(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return encode(vm, argv, result, base64_encode);
}

static bool codec_unbase64(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return decode(vm, argv, result, base64_decode, "base64");
}

static bool codec_hex(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return encode(vm, argv, result, hex_encode);
}

static bool codec_unhex(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return decode(vm, argv, result, hex_decode, "hex");
}

static bool codec_url(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return encode(vm, argv, result, percent_encode);
}

static bool codec_unurl(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return decode(vm, argv, result, percent_decode, "url");
}

static bool codec_rle(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return encode(vm, argv, result, rle_encode);
}

static bool codec_unrle(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return decode(vm, argv, result, rle_decode, "run-length");
}

static bool codec_lz(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return encode(vm, argv, result, lz_compress);
}

static bool codec_unlz(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return decode(vm, argv, result, lz_expand, "lz");
}

static bool codec_huffman(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return encode(vm, argv, result, huffman_encode);
}

static bool codec_unhuffman(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return decode(vm, argv, result, huffman_decode, "huffman");
}

static bool codec_html(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return encode(vm, argv, result, html_escape);
}

static bool codec_crc32(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    return arg_str(vm, argv, 0, &s) && give(result, value_int(hash_crc32(s->data, s->len)));
}

static bool codec_adler32(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    return arg_str(vm, argv, 0, &s) && give(result, value_int(hash_adler32(s->data, s->len)));
}

static bool codec_fnv(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    return arg_str(vm, argv, 0, &s) &&
           give(result, value_int((int64_t)(hash_fnv1a(s->data, s->len) >> 1)));
}

/* The digest in hexadecimal. */
static bool codec_sha256(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    Sha256 ctx;
    unsigned char digest[SHA256_BYTES];
    Buf out;
    if (!arg_str(vm, argv, 0, &s))
        return false;
    sha256_init(&ctx);
    sha256_update(&ctx, s->data, s->len);
    sha256_final(&ctx, digest);
    buf_init(&out);
    hex_encode(&out, (const char *)digest, sizeof digest);
    return give_buf(vm, result, &out);
}

void lib_codec(Vm *vm)
{
    static const NativeDef functions[] = {
        {"base64", codec_base64, 1, 1},   {"unbase64", codec_unbase64, 1, 1},
        {"hex", codec_hex, 1, 1},         {"unhex", codec_unhex, 1, 1},
        {"url", codec_url, 1, 1},         {"unurl", codec_unurl, 1, 1},
        {"rle", codec_rle, 1, 1},         {"unrle", codec_unrle, 1, 1},
        {"lz", codec_lz, 1, 1},           {"unlz", codec_unlz, 1, 1},
        {"huffman", codec_huffman, 1, 1}, {"unhuffman", codec_unhuffman, 1, 1},
        {"html", codec_html, 1, 1},       {"crc32", codec_crc32, 1, 1},
        {"adler32", codec_adler32, 1, 1}, {"fnv", codec_fnv, 1, 1},
        {"sha256", codec_sha256, 1, 1},   {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "codec", functions);
}

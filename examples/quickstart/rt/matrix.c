#include "matrix.h"

#include "mem.h"

#include <math.h>
#include <string.h>

void matrix_init(Matrix *m, size_t rows, size_t cols)
{
    m->rows = rows;
    m->cols = cols;
    m->cell = rt_zalloc_array(rows * cols, sizeof *m->cell);
}

void matrix_free(Matrix *m)
{
    rt_free(m->cell);
    memset(m, 0, sizeof *m);
}

double *matrix_at(const Matrix *m, size_t row, size_t col)
{
    return &m->cell[row * m->cols + col];
}

void matrix_copy(Matrix *r, const Matrix *a)
{
    matrix_init(r, a->rows, a->cols);
    memcpy(r->cell, a->cell, a->rows * a->cols * sizeof *a->cell);
}

void matrix_identity(Matrix *r, size_t n)
{
    matrix_init(r, n, n);
    for (size_t i = 0; i < n; i++)
        *matrix_at(r, i, i) = 1;
}

void matrix_transpose(Matrix *r, const Matrix *a)
{
    matrix_init(r, a->cols, a->rows);
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < a->cols; j++)
            *matrix_at(r, j, i) = *matrix_at(a, i, j);
}

bool matrix_add(Matrix *r, const Matrix *a, const Matrix *b, double scale_b)
{
    if (a->rows != b->rows || a->cols != b->cols)
        return false;
    matrix_copy(r, a);
    for (size_t i = 0; i < a->rows * a->cols; i++)
        r->cell[i] += b->cell[i] * scale_b;
    return true;
}

bool matrix_mul(Matrix *r, const Matrix *a, const Matrix *b)
{
    if (a->cols != b->rows)
        return false;
    matrix_init(r, a->rows, b->cols);
    for (size_t i = 0; i < a->rows; i++) {
        for (size_t k = 0; k < a->cols; k++) {
            double x = *matrix_at(a, i, k);
            for (size_t j = 0; j < b->cols; j++)
                *matrix_at(r, i, j) += x * *matrix_at(b, k, j);
        }
    }
    return true;
}

static void multiply_into(Matrix *target, const Matrix *factor)
{
    Matrix product = {0, 0, NULL};
    matrix_mul(&product, target, factor);
    matrix_free(target);
    *target = product;
}

bool matrix_pow(Matrix *r, const Matrix *a, unsigned exponent)
{
    if (a->rows != a->cols)
        return false;
    Matrix square;
    matrix_identity(r, a->rows);
    matrix_copy(&square, a);
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1)
            multiply_into(r, &square);
        if (exponent > 1)
            multiply_into(&square, &square);
    }
    matrix_free(&square);
    return true;
}

static size_t find_pivot(const Matrix *m, size_t col)
{
    size_t best = col;
    for (size_t i = col + 1; i < m->rows; i++)
        if (fabs(*matrix_at(m, i, col)) > fabs(*matrix_at(m, best, col)))
            best = i;
    return best;
}

static void swap_rows(Matrix *m, size_t a, size_t b)
{
    for (size_t j = 0; j < m->cols; j++) {
        double t = *matrix_at(m, a, j);
        *matrix_at(m, a, j) = *matrix_at(m, b, j);
        *matrix_at(m, b, j) = t;
    }
}

/* row[to] -= factor * row[from] */
static void subtract_row(Matrix *m, size_t to, size_t from, double factor)
{
    for (size_t j = 0; j < m->cols; j++)
        *matrix_at(m, to, j) -= factor * *matrix_at(m, from, j);
}

/*
 * Gaussian elimination with partial pivoting; the same row operations are
 * applied to `rhs` if given.  Returns the sign of the row permutation, or 0
 * if the matrix is singular.
 */
static int eliminate(Matrix *m, Matrix *rhs)
{
    int sign = 1;
    for (size_t col = 0; col < m->rows; col++) {
        size_t pivot = find_pivot(m, col);
        if (fabs(*matrix_at(m, pivot, col)) < 1e-12)
            return 0;
        if (pivot != col) {
            swap_rows(m, pivot, col);
            if (rhs)
                swap_rows(rhs, pivot, col);
            sign = -sign;
        }
        for (size_t i = col + 1; i < m->rows; i++) {
            double factor = *matrix_at(m, i, col) / *matrix_at(m, col, col);
            subtract_row(m, i, col, factor);
            if (rhs)
                subtract_row(rhs, i, col, factor);
        }
    }
    return sign;
}

static void back_substitute(const Matrix *m, Matrix *rhs)
{
    for (size_t i = m->rows; i-- > 0;) {
        for (size_t k = i + 1; k < m->rows; k++)
            subtract_row(rhs, i, k, *matrix_at(m, i, k));
        for (size_t j = 0; j < rhs->cols; j++)
            *matrix_at(rhs, i, j) /= *matrix_at(m, i, i);
    }
}

bool matrix_solve(Matrix *r, const Matrix *a, const Matrix *b)
{
    if (a->rows != a->cols || a->rows != b->rows)
        return false;
    Matrix work;
    matrix_copy(&work, a);
    matrix_copy(r, b);
    bool regular = eliminate(&work, r) != 0;
    if (regular)
        back_substitute(&work, r);
    else
        matrix_free(r);
    matrix_free(&work);
    return regular;
}

bool matrix_inverse(Matrix *r, const Matrix *a)
{
    if (a->rows != a->cols)
        return false;
    Matrix unit;
    matrix_identity(&unit, a->rows);
    bool ok = matrix_solve(r, a, &unit);
    matrix_free(&unit);
    return ok;
}

bool matrix_det(const Matrix *a, double *det)
{
    if (a->rows != a->cols)
        return false;
    Matrix work;
    matrix_copy(&work, a);
    *det = eliminate(&work, NULL);
    for (size_t i = 0; i < a->rows && *det != 0; i++)
        *det *= *matrix_at(&work, i, i);
    matrix_free(&work);
    return true;
}

bool matrix_trace(const Matrix *a, double *trace)
{
    if (a->rows != a->cols)
        return false;
    *trace = 0;
    for (size_t i = 0; i < a->rows; i++)
        *trace += *matrix_at(a, i, i);
    return true;
}

void matrix_scale(Matrix *a, double factor)
{
    for (size_t i = 0; i < a->rows * a->cols; i++)
        a->cell[i] *= factor;
}

double matrix_norm(const Matrix *a)
{
    double sum = 0;
    for (size_t i = 0; i < a->rows * a->cols; i++)
        sum += a->cell[i] * a->cell[i];
    return sqrt(sum);
}

/* Dense matrices of doubles, row by row. */
#ifndef RT_MATRIX_H
#define RT_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t rows, cols;
    double *cell;
} Matrix;

void matrix_init(Matrix *m, size_t rows, size_t cols); /* zeros */
void matrix_free(Matrix *m);
double *matrix_at(const Matrix *m, size_t row, size_t col);
void matrix_copy(Matrix *r, const Matrix *a);
void matrix_identity(Matrix *r, size_t n);
void matrix_transpose(Matrix *r, const Matrix *a);

/* These initialise r; false if the shapes do not fit or the matrix is singular. */
bool matrix_add(Matrix *r, const Matrix *a, const Matrix *b, double scale_b);
bool matrix_mul(Matrix *r, const Matrix *a, const Matrix *b);
bool matrix_pow(Matrix *r, const Matrix *a, unsigned exponent);
bool matrix_solve(Matrix *r, const Matrix *a, const Matrix *b);
bool matrix_inverse(Matrix *r, const Matrix *a);

bool matrix_det(const Matrix *a, double *det);
bool matrix_trace(const Matrix *a, double *trace);
void matrix_scale(Matrix *a, double factor); /* in place */
double matrix_norm(const Matrix *a);

#endif

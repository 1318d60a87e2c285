// y = A x for a sparse matrix in CSR, one thread a row.
__global__ void spmv(int rows, const int *row_start, const int *columns, const double *values, const double *x, double *y)
{
    const int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < rows) {
        double dot = 0.0;
        const int end = row_start[row + 1];
        for (int j = row_start[row]; j < end; ++j)  //- for (int j = row_start[row]; j <= end; ++j)
            dot += values[j] * x[columns[j]];  //@
        y[row] = dot;
    }
}

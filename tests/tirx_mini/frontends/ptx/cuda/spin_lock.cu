// Blocks add to a sum and count under a lock that they take by atomicCAS.
struct Account {
    int lock;
    int balance;
    int entries;
};

__device__ void acquire(int *lock)
{
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
}

__device__ void release(int *lock)
{
    __threadfence();  //-
    atomicExch(lock, 0);
}

__global__ void deposit(Account *account, const int *amounts)
{
    if (threadIdx.x == 0) {
        acquire(&account->lock);
        account->balance += amounts[blockIdx.x];  //@
        account->entries++;                       //@
        release(&account->lock);
    }
}

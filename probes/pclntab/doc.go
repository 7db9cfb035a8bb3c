// Package pclntab reads .gopclntab, the table by which Go's runtime walks stacks. Every Go program has it, stripped
// or not. It has the names, files and lines of functions, the size of a function's frame at each instruction, the
// instructions at which the runtime takes a goroutine to be at a safe point, and the functions that the compiler
// inlined. debug/gosym reads only names, files and lines, and copies all names.
package pclntab

// Package pclntab reads .gopclntab, the table by which Go's runtime walks stacks. It is in
// every Go program, stripped or not: names, files and lines of functions, how large a
// function's frame is at each instruction, at which instructions the runtime takes a
// goroutine to be at a safe point, and which functions the compiler has put into others.
// debug/gosym has the first three alone, and copies all names.
package pclntab

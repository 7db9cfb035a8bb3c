package kubelet

// Shapes calls a function of each shape that the compiler's prologues and epilogues have.
//
//go:noinline
func Shapes(n int) int {
	return noFrame(n) + smallFrame(n) + largeFrame(n) + middleFrame(n) + loops(n) + manyReturns(n) + literal(n)(n) + noSplit(n)
}

//go:noinline
func noFrame(n int) int { return n + 1 }

//go:noinline
func smallFrame(n int) int { return noFrame(n) + noFrame(n+1) }

// middleFrame has one that is compared with the stack's bound as a whole.
//
//go:noinline
func middleFrame(n int) int {
	var room [100]int
	fill(room[:], n)
	return room[n%len(room)]
}

// largeFrame has one that could wrap around below the stack's bound.
//
//go:noinline
func largeFrame(n int) int {
	var room [1000]int
	fill(room[:], n)
	return room[n%len(room)]
}

//go:noinline
func fill(room []int, n int) {
	for i := range room {
		room[i] = n
	}
}

// loops begins with a loop, and has no frame.
//
//go:noinline
func loops(n int) int {
	for n > 1 {
		n = n/3 + 1&n
	}
	return n
}

//go:noinline
func manyReturns(n int) int {
	switch {
	case n < 3:
		return noFrame(n)
	case n < 5:
		return smallFrame(n)
	case n < 7:
		return largeFrame(n)
	}
	if n > 100 {
		return never(n)
	}
	return n
}

//go:noinline
func literal(n int) func(int) int {
	return func(m int) int { return noFrame(m) + noFrame(n) }
}

//go:nosplit
//go:noinline
func noSplit(n int) int { return noFrame(n) }

// never does not return.
//
//go:noinline
func never(n int) int { panic(n) }

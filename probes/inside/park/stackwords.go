//go:build linux && (amd64 || arm64)

package park

import (
	"encoding/binary"
	"fmt"
)

func word(b []byte, at uint64) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

func put(b []byte, at, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }

// stack is the memory above a stack pointer. It is read piece by piece.
type stack struct {
	pid  int
	low  uint64 // the stack pointer
	high uint64 // where the stack ends
	b    []byte
}

const piece = 4096

// word returns the word at an address of the stack.
func (s *stack) word(at uint64) (uint64, error) {
	if at < s.low || at+8 > s.high || at+8 < at {
		return 0, fmt.Errorf("the address %#x is not on the stack", at)
	}
	for at+8 > s.low+uint64(len(s.b)) {
		from := s.low + uint64(len(s.b))
		more := make([]byte, min(piece, s.high-from))
		if err := ReadMemory(s.pid, from, more); err != nil {
			return 0, err
		}
		s.b = append(s.b, more...)
	}
	return word(s.b, at-s.low), nil
}

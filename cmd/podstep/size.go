package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a flag for a number of bytes, such as 512MiB.
type size int64

func (s *size) Type() string   { return "SIZE" }
func (s *size) String() string { return sizeText(int64(*s)) }

// units are those of sizes, the largest first. As in Kubernetes, the B may be left out.
var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func (s *size) Set(text string) error {
	bad := errors.New("no size; write it as 512MiB or 1GiB")
	at := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if at < 0 {
		at = len(text)
	}
	n, err := strconv.ParseFloat(text[:at], 64)
	if err != nil {
		return bad
	}
	for _, u := range units {
		if unit := text[at:]; unit == u.name || unit+"B" == u.name {
			if n *= float64(u.bytes); n >= math.MaxInt64 {
				return bad
			}
			*s = size(n)
			return nil
		}
	}
	return bad
}

// sizeText returns a number of bytes in the largest unit of which it is a whole number.
func sizeText(n int64) string {
	for _, u := range units {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}

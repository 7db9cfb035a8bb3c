package labtest

import (
	"os"
	"strconv"
	"testing"
)

// Times returns how often a test does something: the number in the environment variable env, or otherwise.
func Times(tb testing.TB, env string, otherwise int) int {
	tb.Helper()
	text := os.Getenv(env)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatalf("%s: %v", env, err)
	}
	return n
}

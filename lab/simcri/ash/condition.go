package ash

import (
	"fmt"
	"slices"
	"strconv"

	"mvdan.cc/sh/v3/interp"
)

var (
	fileTests  = []string{"-f", "-d", "-e", "-s", "-r"}
	textTests  = []string{"-n", "-z"}
	textPairs  = []string{"=", "==", "!="}
	countPairs = []string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
)

// isTest reports whether the words are a condition that is understood. Words that are still to be expanded are empty
// here.
func isTest(args []string) bool {
	if len(args) > 0 && args[0] == "!" {
		args = args[1:]
	}
	switch len(args) {
	case 1:
		return true
	case 2:
		return slices.Contains(fileTests, args[0]) || slices.Contains(textTests, args[0])
	case 3:
		return slices.Contains(textPairs, args[1]) || slices.Contains(countPairs, args[1])
	}
	return false
}

func isBracket(args []string) bool {
	n := len(args) - 1
	return n >= 0 && args[n] == "]" && isTest(args[:n])
}

// condition rewrites the words of a test, so that the interpreter's test understands them as POSIX says: of three
// words, the one in the middle is the operator, even if others look like one.
func condition(hc interp.HandlerContext, args []string) []string {
	words := slices.Clone(args)
	operands := words[1:]
	if n := len(operands) - 1; n >= 0 && operands[n] == "]" {
		operands = operands[:n]
	}
	if len(operands) == 4 && operands[0] == "!" {
		operands = operands[1:]
	}
	if len(operands) != 3 {
		return words
	}
	switch left, right := &operands[0], &operands[2]; {
	case slices.Contains(textPairs, operands[1]):
		*left, *right = "x"+*left, "x"+*right
	case slices.Contains(countPairs, operands[1]):
		for _, w := range []string{*left, *right} {
			if _, err := strconv.Atoi(w); err != nil {
				fmt.Fprintf(hc.Stderr, "sh: %s: bad number\n", w)
				return []string{"status", "2"}
			}
		}
	}
	return words
}

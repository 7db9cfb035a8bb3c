package ash

import (
	"slices"
	"strconv"
)

var (
	fileTests  = []string{"-f", "-d", "-e", "-s", "-r"}
	textTests  = []string{"-n", "-z"}
	textPairs  = []string{"=", "==", "!="}
	countPairs = []string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
)

// isTest reports whether the words are a condition that is known. Words that are
// still to be expanded are empty here.
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

func test(sh *shell, args []string) int {
	if n := len(args) - 1; n >= 0 && args[n] == "]" {
		args = args[:n]
	}
	want := true
	if len(args) > 0 && args[0] == "!" {
		want, args = false, args[1:]
	}
	holds, ok := sh.holds(args)
	switch {
	case !ok:
		return 2
	case holds == want:
		return 0
	}
	return 1
}

// holds evaluates a condition; ok is false when its words make none.
func (sh *shell) holds(args []string) (holds, ok bool) {
	switch len(args) {
	case 0:
		return false, true
	case 1:
		return args[0] != "", true
	case 2:
		return sh.one(args[0], args[1])
	case 3:
		return two(args[0], args[1], args[2])
	}
	return false, false
}

func (sh *shell) one(op, arg string) (holds, ok bool) {
	switch op {
	case "-n":
		return arg != "", true
	case "-z":
		return arg == "", true
	}
	info, err := sh.env.Files.Stat(sh.abs(arg))
	if err != nil {
		return false, slices.Contains(fileTests, op)
	}
	switch op {
	case "-f":
		return info.Mode().IsRegular(), true
	case "-d":
		return info.IsDir(), true
	case "-s":
		return info.Size() > 0, true
	}
	return true, op == "-e" || op == "-r"
}

func two(left, op, right string) (holds, ok bool) {
	switch op {
	case "=", "==":
		return left == right, true
	case "!=":
		return left != right, true
	}
	l, err := strconv.Atoi(left)
	r, errR := strconv.Atoi(right)
	if err != nil || errR != nil {
		return false, false
	}
	switch op {
	case "-eq":
		return l == r, true
	case "-ne":
		return l != r, true
	case "-lt":
		return l < r, true
	case "-le":
		return l <= r, true
	case "-gt":
		return l > r, true
	case "-ge":
		return l >= r, true
	}
	return false, false
}

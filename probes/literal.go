package probes

import "strings"

// IsInFunction reports whether is accepts a function, or one that it is a literal of: a.f.func1 is in a.f.
func IsInFunction(function string, is func(string) bool) bool {
	for from := strings.LastIndexByte(function, '/') + 1; ; {
		if is(function) {
			return true
		}
		dot := strings.LastIndexByte(function, '.')
		if dot < from {
			return false
		}
		function = function[:dot]
	}
}

package callsite

import (
	"reflect"
	"runtime"
	"strings"
)

// Begin is where a function begins in the source that this program was compiled from.
type Begin struct {
	File string
	Line int
}

// lineStride is the distance, in bytes, between the addresses of which the runtime is asked for the function. Woven
// functions are longer: the hook alone takes as much.
const lineStride = 128

// Begins finds functions in this program, by symbol. It walks the program's
// text, which takes a tenth of a second in a kubelet; reading the executable's tables
// would take five times that, and a hundred megabytes.
func Begins(symbols map[string]bool) map[string]Begin {
	found := map[string]Begin{}
	start := reflect.ValueOf(Begins).Pointer()
	for _, stride := range []int{lineStride, -lineStride} {
		var last uintptr
		for pc := start; ; pc = uintptr(int(pc) + stride) {
			f := runtime.FuncForPC(pc)
			if f == nil {
				break // the end of the text
			}
			entry := f.Entry()
			if entry == last {
				continue
			}
			last = entry
			// pc may be in a function that was inlined; entry is not.
			if f = runtime.FuncForPC(entry); symbols[f.Name()] {
				file, line := f.FileLine(entry)
				found[f.Name()] = Begin{file, line}
			}
		}
	}
	return found
}

// ModuleFile is a file's path relative to its module: what follows the
// version, as in the module cache and with -trimpath.
func ModuleFile(file string) string {
	if _, after, ok := strings.Cut(file, "@"); ok {
		if _, path, ok := strings.Cut(after, "/"); ok {
			return path
		}
	}
	return file
}

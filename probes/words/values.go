package words

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
)

// Short returns a value for a line. Documents that are short lists become words.
func Short(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return OneLine(v)
	case probes.RawJSON:
		var list []any
		if json.Unmarshal(v, &list) == nil {
			words := make([]string, 0, len(list))
			for _, x := range list {
				words = append(words, Short(x))
			}
			return strings.Join(words, ", ")
		}
		return OneLine(string(v))
	case bool:
		return strconv.FormatBool(v)
	}
	return OneLine(fmt.Sprint(v))
}

// ShortID returns the beginning of an id of the runtime, as its tools print it: of a container, a sandbox, or an
// image by its digest. Any other text stays whole.
func ShortID(id string) string {
	digits := id
	if i := strings.LastIndexByte(id, ':'); i >= 0 {
		digits = strings.TrimPrefix(id[i+1:], "//")
	}
	if len(digits) < idDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		return id
	}
	return digits[:12]
}

// idDigits is the least number of digits of an id of a runtime.
const idDigits = 32

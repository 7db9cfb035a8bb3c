package words

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
)

// Short is a value for a line: documents that are short lists become words.
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

// ShortID is the beginning of an id of the runtime, as its tools print it.
func ShortID(id string) string {
	if i := strings.LastIndexByte(id, ':'); i >= 0 && i+13 <= len(id) {
		return id[i+1 : i+13]
	}
	if len(id) > 20 && !strings.ContainsAny(id, "/. ") {
		return id[:12]
	}
	return id
}

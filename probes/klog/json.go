package klog

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"
)

// parseJSON reads an entry in the format of --logging-format=json. There informative entries have a level, and errors
// have none.
func parseJSON(text string) (e Entry, ok bool) {
	var members map[string]json.RawMessage
	d := json.NewDecoder(strings.NewReader(text))
	if d.Decode(&members) != nil {
		return e, false
	}
	message, has := members["msg"]
	at, dated := milliseconds(members["ts"])
	if !has || !dated {
		return e, false
	}
	e = Entry{Time: at, Level: 'E', Message: plainJSON(message), Structured: true, Where: plainJSON(members["caller"])}
	if _, informs := members["v"]; informs {
		e.Level = 'I'
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		raw := members[key]
		switch key {
		case "msg", "ts", "caller", "v":
			continue
		case "pod":
			e.values = append(e.values, value{key, objectRef(raw)})
		default:
			e.values = append(e.values, value{key, plainJSON(raw)})
		}
		if len(e.values) >= maxValues {
			break
		}
	}
	return e, true
}

// milliseconds reads a time in milliseconds since 1970, with a fraction. A float of 64 bits would lose some of it.
func milliseconds(raw json.RawMessage) (time.Time, bool) {
	if len(raw) == 0 || len(raw) > 40 {
		return time.Time{}, false
	}
	r, ok := new(big.Rat).SetString(string(raw))
	if !ok || strings.ContainsAny(string(raw), "eE/") && len(raw) > 24 {
		return time.Time{}, false
	}
	r.Mul(r, big.NewRat(int64(time.Millisecond), 1))
	nano := new(big.Int).Quo(r.Num(), r.Denom())
	if !nano.IsInt64() {
		return time.Time{}, false
	}
	return time.Unix(0, nano.Int64()).UTC(), true
}

// plainJSON returns a text as it is, and any other value as JSON.
func plainJSON(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// objectRef returns klog's reference of an object as its text format writes it.
func objectRef(raw json.RawMessage) string {
	var ref struct{ Name, Namespace string }
	if json.Unmarshal(raw, &ref) != nil || ref.Name == "" {
		return plainJSON(raw)
	}
	if ref.Namespace == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}

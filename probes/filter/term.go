package filter

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/probes"
)

// word is a text without a key: it is looked for in the pod's name, the step
// and the error.
type word struct {
	pattern pattern
	value   string
}

func (w *word) match(e *probes.Event, _ knowledge) Answer {
	return answer(w.pattern.match(podName(e, w.value)) || w.pattern.match(e.Step) || w.pattern.match(e.Error))
}

func (w *word) text() string {
	quoted := quote(w.value)
	if quoted == w.value && !plainWord(w.value) {
		return `"` + strings.ReplaceAll(w.value, `\`, `\\`) + `"`
	}
	return quoted
}

// plainWord reports whether a word without quotes is read as a word.
func plainWord(s string) bool {
	if strings.ContainsAny(s[:1], "-!&") || strings.HasPrefix(s, fieldPrefix) || s == flagError {
		return false
	}
	for _, reserved := range []string{"and", "or", "not"} {
		if strings.EqualFold(s, reserved) {
			return false
		}
	}
	for i := range s {
		if operatorAt(s[i:]) != "" {
			return false
		}
	}
	return true
}

// newWord reads a word that was not quoted.
func newWord(s string) expr {
	switch field, isField := strings.CutPrefix(s, fieldPrefix); {
	case s == flagError:
		return failed{}
	case isField && field != "":
		return hasField(field)
	}
	return &word{newPattern(s), s}
}

// flagError is the word for events with an error.
const flagError = "err"

type failed struct{}

func (failed) match(e *probes.Event, _ knowledge) Answer { return answer(e.Error != "") }
func (failed) text() string                              { return flagError }

// hasField asks for a field of that name, whatever its value.
type hasField string

func (f hasField) match(e *probes.Event, k knowledge) Answer {
	if k != everything {
		return Maybe
	}
	_, ok := e.Fields[string(f)]
	return answer(ok)
}

func (f hasField) text() string { return fieldPrefix + string(f) }

// term compares something of an event with a value.
type term struct {
	name, op, value string

	key     *key
	field   string
	pattern pattern
	regexp  *regexp.Regexp
	number  float64 // of numbers; of durations, in nanoseconds
}

func (t *term) text() string { return t.name + t.op + quote(t.value) }

func answer(yes bool) Answer {
	if yes {
		return Yes
	}
	return No
}

// resolveKey looks up the key, and reports whether there is one.
func (t *term) resolveKey() bool {
	if t.key = keyNamed(t.name); t.key == nil {
		return false
	}
	if t.key.sort == fieldKey {
		t.field = strings.TrimPrefix(strings.TrimPrefix(t.name, t.key.name), ".")
	} else {
		t.name = t.key.name
	}
	return true
}

// prepare reads the value. It returns what is wrong with it, or "".
func (t *term) prepare() (why string) {
	k := t.key
	switch {
	case t.op == "=~":
		var err error
		if t.regexp, err = regexp.Compile(t.value); err != nil {
			return fmt.Sprintf("%q is not a regular expression: %s", t.value, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
	case t.op == "~" || t.op == "!~":
		t.pattern = newPattern(t.value)
	case k.sort == numberKey || k.sort == durationKey || t.ordered():
		return t.readNumber()
	case k.sort == nameKey && strings.ContainsAny(t.value, "*?"):
		return fmt.Sprintf("%s is exact; for a pattern write %s%s%s", t.op, t.name, strings.Replace(t.op, "=", "~", 1), t.value)
	case k.values != nil && !slices.Contains(k.values, t.value):
		return fmt.Sprintf("%s is one of %s", t.name, strings.Join(k.values, " "))
	}
	return ""
}

// ordered reports whether the operator asks for more or less.
func (t *term) ordered() bool { return t.op[0] == '<' || t.op[0] == '>' }

func (t *term) readNumber() (why string) {
	number, isNumber := readNumber(t.value)
	duration, err := time.ParseDuration(t.value)
	switch {
	case t.key.sort != numberKey && err == nil:
		t.number = float64(duration)
	case t.key.sort != durationKey && isNumber:
		t.number = number
	case t.key.sort == durationKey:
		return t.name + " needs a duration, such as 1.5s or 200ms"
	case t.key.sort == numberKey:
		return t.name + " needs a number"
	default:
		return fmt.Sprintf("%s needs a number or a duration, such as 3 or 1.5s", t.op)
	}
	return ""
}

func readNumber(s string) (float64, bool) {
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && n == n
}

func (t *term) match(e *probes.Event, k knowledge) Answer {
	if k == podAlone && !t.key.ofPod {
		return Maybe
	}
	switch t.key.sort {
	case fieldKey:
		if k != everything {
			return Maybe
		}
		return answer(t.fields(e.Fields) != t.negated())
	case numberKey, durationKey:
		v, known := t.key.number(e)
		return answer(known && t.compare(v))
	}
	return answer(t.matchText(t.key.text(e, t.value)) != t.negated())
}

// negated reports whether the answer of = or ~ is to be turned round. A number's != is compared as it is.
func (t *term) negated() bool { return t.op[0] == '!' && t.key.sort != numberKey }

func (t *term) matchText(s string) bool {
	switch t.op {
	case "~", "!~":
		return t.pattern.match(s)
	case "=~":
		return t.regexp.MatchString(s)
	}
	return s == t.value
}

func (t *term) compare(v float64) bool {
	switch t.op {
	case ">":
		return v > t.number
	case "<":
		return v < t.number
	case ">=":
		return v >= t.number
	case "<=":
		return v <= t.number
	case "!=":
		return v != t.number
	}
	return v == t.number
}

// fields reports whether the named field, or any if none is named, is what the term asks for.
func (t *term) fields(fields map[string]any) bool {
	if t.field != "" {
		v, ok := fields[t.field]
		return ok && t.matchField(v)
	}
	for _, v := range fields {
		if t.matchField(v) {
			return true
		}
	}
	return false
}

func (t *term) matchField(v any) bool {
	if !t.ordered() {
		return t.matchText(fieldText(v))
	}
	switch v := v.(type) {
	case int64:
		return t.compare(float64(v))
	case float64:
		return t.compare(v)
	case string:
		if d, err := time.ParseDuration(v); err == nil {
			return t.compare(float64(d))
		}
	}
	return false
}

func fieldText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case probes.RawJSON:
		return string(v)
	case nil:
		return ""
	}
	return fmt.Sprint(v)
}

package lines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"

	"github.com/podstep/podstep/probes"
)

// JSON has one event a line, as scripts get it.
type JSON struct{ b bytes.Buffer }

func (l *JSON) Add(e *probes.Event) error {
	text, err := Encode(e, "")
	if err != nil {
		return err
	}
	l.b.Write(text)
	return nil
}

func (l *JSON) Flush() []byte {
	text := bytes.Clone(l.b.Bytes())
	l.b.Reset()
	return text
}

// Encode gives data as JSON with a final newline. Characters that a terminal
// would act on, and encoding/json leaves alone, are escaped: pods choose names
// and messages, and JSON is looked at in terminals too.
func Encode(data any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(data); err != nil {
		return nil, fmt.Errorf("print as json: %w", err)
	}
	text := b.Bytes()
	if !bytes.ContainsFunc(text, unprintable) {
		return text, nil
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !unprintable(r):
			out.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes(), nil
}

func unprintable(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }

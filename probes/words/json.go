package words

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
)

// JSON gives data as JSON with a final newline. Characters that a terminal would act
// on, and encoding/json leaves alone, are escaped: pods choose names and messages, and
// JSON is looked at in terminals too.
func JSON(data any, indent string) ([]byte, error) {
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

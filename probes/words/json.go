package words

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
)

// JSON returns data as JSON with a final newline. It escapes characters that a terminal would act on and that
// encoding/json leaves alone: pods choose names and messages, and people look at JSON in terminals too.
func JSON(data any, indent string) ([]byte, error) {
	return escaped(data, indent, func(r rune) string {
		if r > 0xffff {
			hi, lo := utf16.EncodeRune(r)
			return fmt.Sprintf(`\u%04x\u%04x`, hi, lo)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// Flow is JSON for a reader of YAML: YAML has JSON's lists, maps and texts, but no surrogates.
func Flow(data any) ([]byte, error) {
	return escaped(data, "  ", func(r rune) string {
		if r > 0xffff {
			return fmt.Sprintf(`\U%08x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

func escaped(data any, indent string, escape func(rune) string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(data); err != nil {
		return nil, fmt.Errorf("print as json: %w", err)
	}
	text := b.Bytes()
	if Printable(text) {
		return text, nil
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if unprintable(r) {
			out.WriteString(escape(r))
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes(), nil
}

// Printable reports whether a terminal shows all characters of a text, and acts on none.
func Printable(text []byte) bool { return !bytes.ContainsFunc(text, unprintable) }

func unprintable(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }

package words

import (
	"strings"

	"github.com/podstep/podstep/probes"
)

// Lang is the language of the reader.
type Lang string

const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// In returns a text in the reader's language.
func (l Lang) In(t probes.Text) string {
	if l == Chinese && t.Zh != "" {
		return t.Zh
	}
	return t.En
}

// LangOf chooses a language by the first that is set of LC_ALL, LC_MESSAGES and LANG, whose values it is given in
// this order.
func LangOf(locales ...string) Lang {
	for _, l := range locales {
		if l != "" {
			if strings.HasPrefix(strings.ToLower(l), "zh") {
				return Chinese
			}
			return English
		}
	}
	return English
}

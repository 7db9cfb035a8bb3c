package probes

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Text is something for a person to read, in each language podstep speaks.
type Text struct {
	En string `yaml:"en" json:"en"`
	Zh string `yaml:"zh" json:"zh"`
}

// UnmarshalYAML reads a text. YAML puts a space where a long text goes on in the
// next line, which Chinese has no use for.
func (t *Text) UnmarshalYAML(n *yaml.Node) error {
	type plain Text // without this method
	if err := n.Decode((*plain)(t)); err != nil {
		return err
	}
	t.Zh = joinChinese(t.Zh)
	return nil
}

// joinChinese takes out spaces between two Chinese characters, and those beside
// Chinese punctuation.
func joinChinese(s string) string {
	runes := []rune(s)
	out := runes[:0:0]
	for i, r := range runes {
		if r == ' ' && i > 0 && i+1 < len(runes) && joined(runes[i-1], runes[i+1]) {
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

func joined(left, right rune) bool {
	return wide(left) && wide(right) || punctuates(left) || punctuates(right)
}

func punctuates(r rune) bool { return strings.ContainsRune("，。：；、？！（）“”", r) }

// wide reports whether a character is Chinese, or Chinese punctuation.
func wide(r rune) bool { return r >= 0x2e80 }

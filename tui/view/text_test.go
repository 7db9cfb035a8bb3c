package view

import (
	"slices"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	cases := []struct {
		text string
		w    int
		want []string
	}{
		{"", 10, []string{""}},
		{"asks the runtime for a sandbox", 12, []string{"asks the", "runtime for", "a sandbox"}},
		{"kubernetes.io/serviceaccount", 10, []string{"kubernetes", ".io/servic", "eaccount"}},
		{"/runtime.v1.RuntimeService/RunPodSandbox", 34, []string{"/runtime.v1.RuntimeService/", "RunPodSandbox"}},
		{"sha256:0123456789abcdef0123456789", 16, []string{"sha256:012345678", "9abcdef012345678", "9"}},
		{"沙箱就绪，或者过了期限", 8, []string{"沙箱就", "绪，或者", "过了期限"}},
		{"请 kubelet 等待", 10, []string{"请 kubelet", "等待"}},
		{"one\ntwo", 10, []string{"one", "two"}},
		{"停", 1, []string{"停"}},
		{"一段时间后（默认五分钟）", 12, []string{"一段时间后", "（默认五分", "钟）"}},
		{"先说“停住”再说", 6, []string{"先说", "“停住”", "再说"}},
	}
	for _, c := range cases {
		if got := wrap(c.text, c.w); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d: %q, want %q", c.text, c.w, got, c.want)
		}
	}
}

func TestFit(t *testing.T) {
	cases := []struct {
		got, want string
	}{
		{fit("sandbox", 7, "…"), "sandbox"},
		{fit("sandbox", 6, "…"), "sandb…"},
		{fit("sandbox", 5, ".."), "san.."},
		{fit("sandbox", 1, "…"), "s"},
		{fit("sandbox", 0, "…"), ""},
		{fit("停住了", 5, "…"), "停住…"},
		{fit("停住了", 4, "…"), "停…"},
		{fitMiddle("cart-7f9c5d6b8-x2x4k", 13, "…"), "cart-7f…x2x4k"},
		{fitMiddle("cart-7f9c5d6b8-x2x4k", 7, "…"), "c…x2x4k"},
		{fitMiddle("cart-7f9c5d6b8-x2x4k", 5, "…"), "cart…"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	cases := []struct{ got, want string }{
		{since(0), "+0"}, {since(500 * ms), "+500 ms"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestCanvas: wide characters are never cut in half.
func TestCanvas(t *testing.T) {
	c := newCanvas(6, 1)
	all := c.all()
	c.put(all, 0, 0, "停住了", 0)
	c.put(all, 1, 0, "x", 0) // over the right half of the first
	c.put(all, 4, 0, "y", 0) // over the left half of the last
	c.put(all, 5, 0, "停", 0)
	if got := c.text(make([]string, inkCount)); got != " x住y" {
		t.Errorf("%q", got)
	}
	c = newCanvas(4, 1)
	c.put(Rect{1, 0, 3, 1}, 0, 0, "停ab", 0) // its left half is outside
	if got := c.text(make([]string, inkCount)); got != "  ab" {
		t.Errorf("%q", got)
	}
}

func TestColouring(t *testing.T) {
	text := func(r rich) string {
		var b strings.Builder
		for _, s := range r {
			b.WriteString(s.text)
		}
		return b.String()
	}
	inks := func(r rich, k ink) (all []string) {
		for _, s := range r {
			if s.ink == k {
				all = append(all, s.text)
			}
		}
		return all
	}
	goCode := `	if err := run("a // b", 'x'); err != nil { // why`
	line := goLine(goCode, inkMuted)
	if text(line) != strings.ReplaceAll(goCode, "\t", "    ") {
		t.Errorf("text is lost: %q", text(line))
	}
	if got := inks(line, inkKeyword); !slices.Equal(got, []string{"if", "nil"}) {
		t.Errorf("keywords %q", got)
	}
	if got := inks(line, inkString); !slices.Equal(got, []string{`"a // b"`}) {
		t.Errorf("strings %q", got)
	}
	if got := inks(line, inkComment); !slices.Equal(got, []string{"// why"}) {
		t.Errorf("comments %q", got)
	}
	for yaml, field := range map[string]string{
		"  - name: web": "name:", "image: docker.io/x:1": "image:", "- 10.96.0.10": "", "- a:b": "", `"x: y"`: "", "config:": "config:",
	} {
		got := yamlLine(yaml)
		if text(got) != yaml {
			t.Errorf("text is lost: %q of %q", text(got), yaml)
		}
		if fields := strings.Join(inks(got, inkField), " "); fields != field {
			t.Errorf("%q: field %q, want %q", yaml, fields, field)
		}
	}
}

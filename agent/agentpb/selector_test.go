package agentpb_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
)

func TestParsePods(t *testing.T) {
	for s, want := range map[string]string{
		"": "any pod", "web": "web", "default/web": "default/web", "pod/web": "web", "po/web-*": "web-*",
		"kube-*/db-[0-2]": "kube-*/db-[0-2]", "a.b.c": "a.b.c",
	} {
		sel, err := agentpb.ParsePods(s)
		if err != nil || sel.Written() != want {
			t.Errorf("%q is read as %s, %v; want %s", s, sel.Written(), err, want)
		}
		if sel.HasGlob() != strings.ContainsAny(want, "*[") {
			t.Errorf("%q may mean several pods: %v", s, sel.HasGlob())
		}
	}
	for s, form := range map[string]bool{
		"a/b/c": true, "/web": true, "default/": true, "/": true,
		"Web": false, "No_Space/web": false, "a.b/web": false, "web-[": false, "web ": false, strings.Repeat("a", 254): false,
	} {
		if sel, err := agentpb.ParsePods(s); err == nil || errors.Is(err, agentpb.ErrPodForm) != form {
			t.Errorf("%q is read as %v, %v", s, sel, err)
		}
	}
	for want, sel := range map[string]*agentpb.PodSelector{
		"any pod":            nil,
		"any pod of default": {Namespace: "default"},
		"uid 1-2":            {Uid: "1-2"},
		"default/web":        {Namespace: "default", Name: "web", Uid: "1-2"},
	} {
		if got := sel.Written(); got != want {
			t.Errorf("%v is written as %q, want %q", sel, got, want)
		}
	}
}

// FuzzParsePods: a selector that was read can be written, and reads to the same again.
func FuzzParsePods(f *testing.F) {
	for _, s := range []string{"web", "default/web-*", "pod/web", "a/b/c", "[", `\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sel, err := agentpb.ParsePods(s)
		if err != nil || sel.Name == "" {
			return
		}
		again, err := agentpb.ParsePods(sel.Written())
		if err != nil || again.Name != sel.Name || again.Namespace != sel.Namespace {
			t.Errorf("%q is read as %v, and then as %v, %v", s, sel, again, err)
		}
	})
}

func TestSelects(t *testing.T) {
	for _, c := range []struct {
		sel  *agentpb.PodSelector
		want bool
	}{
		{&agentpb.PodSelector{}, true},
		{&agentpb.PodSelector{Name: "web-1"}, true},
		{&agentpb.PodSelector{Name: "web"}, false},
		{&agentpb.PodSelector{Name: "web-*", Namespace: "sh[op]*"}, true},
		{&agentpb.PodSelector{Name: "web-*", Namespace: "default"}, false},
		{&agentpb.PodSelector{Name: "[", Namespace: "shop"}, false},
	} {
		if got := c.sel.Selects("shop", "web-1"); got != c.want {
			t.Errorf("%s selects shop/web-1: %v", c.sel.Written(), got)
		}
	}
}

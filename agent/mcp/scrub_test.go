package mcp

import (
	"encoding/json"
	"testing"
)

var homely = newScrubber([]Private{
	{Text: "/srv/lab/agent.sock", As: "[path]"}, {Text: "/srv/lab", As: "[path]"}, {Text: "/home/ann", As: "[path]", Word: true},
	{Text: "https://10.1.2.3:6443", As: "[address]"}, {Text: "prod-eu", As: "[name]", Word: true}, {Text: "tok-12345678", As: "[secret]"}, {Text: "a", As: "!"}, {Text: "abcd", As: "!"},
})

// TestSources: of what podstep says of its sources, nothing is left that looks like a place, an address or a user.
func TestSources(t *testing.T) {
	for text, want := range map[string]string{
		"no agent at /srv/lab/agent.sock: is podstep-kubelet running?": "no agent at [path]: is podstep-kubelet running?",
		"open /home/bob/.kube/config: no such file or directory":       "open [path]: no such file or directory",
		"unable to read \"/a b/c\"":                                    "unable to read \"[path]\"",
		"open /home/bob/my files/config: no such file or directory":    "open [path]: no such file or directory",

		`Get "https://10.1.2.3:6443/api/v1/pods?limit=5": dial tcp 10.1.2.3:6443: refused`:  `Get "[address]": dial tcp [address]: refused`,
		`Get "https://other.example/x": lookup other.example on 10.0.0.53:53: no such host`: `Get "[address]": lookup other.example on [address]: no such host`,
		"dial tcp [::1]:6443: refused":                                "dial tcp [address]: refused",
		`pods is forbidden: User "ann" cannot list`:                   `pods is forbidden: user "[user]" cannot list`,
		`context "prod-eu" does not exist`:                            `context "[name]" does not exist`,
		"/proc cannot be read; NAMESPACE/NAME, and/or, v1.36.3, 2m3s": "/proc cannot be read; NAMESPACE/NAME, and/or, v1.36.3, 2m3s",
		"abcd is short":               "abcd is short",
		"~/x and (/y) and =/z, /q":    "[path] and ([path]) and =[path], [path]",
		"token=tok-12345678 was sent": "token=<redacted> was sent",
	} {
		if got := homely.sources(text); got != want {
			t.Errorf("%s\nis shown as %s\nwant %s", text, got, want)
		}
	}
}

// TestDocument: what is shown of pods keeps its paths, but not this machine's; below unseen, all texts are of sources.
func TestDocument(t *testing.T) {
	in := `{"a":["stat /app/server: no such file","at /srv/lab/agent.sock","/home/ann in a container",1,null,true],"unseen":[{"message":"open /x/y: denied","n":1.50}],"/srv/lab":{}}`
	want := `{"a":["stat /app/server: no such file","at [path]","/home/ann in a container",1,null,true],"unseen":[{"message":"open [path]: denied","n":1.50}],"[path]":{}}`
	got, err := homely.document(json.RawMessage(in), false)
	if err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	got, err = homely.document(json.RawMessage(`["/app/server"]`), true)
	if err != nil || string(got) != `["[path]"]` {
		t.Errorf("%s, %v", got, err)
	}
}

package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		// Addresses.
		"pull https://user:pw@registry/x failed":                         "pull https://<redacted>@registry/x failed",
		"pull https://us:p/w@registry/x failed":                          "pull https://<redacted>@registry/x failed",
		"https://registry/x@sha256:" + digest:                            "https://registry/x@sha256:" + digest,
		"https://registry:5000/x@sha256:" + digest:                       "https://registry:5000/x@sha256:" + digest,
		"https://u:p@r:5000/x@sha256:" + digest:                          "https://<redacted>@r:5000/x@sha256:" + digest,
		"user:pw@registry.example/app:v1":                                "<redacted>@registry.example/app:v1",
		"user:p@w@registry.example/app:v1":                               "<redacted>@registry.example/app:v1",
		`Pulling image "user:pw@registry/app"`:                           `Pulling image "<redacted>@registry/app"`,
		"busybox:1.35@sha256:" + digest:                                  "busybox:1.35@sha256:" + digest,
		`Get "https://h/p?X-Amz-Signature=ab%2Bc&ns=x": EOF`:             `Get "https://h/p?X-Amz-Signature=<redacted>&ns=x": EOF`,
		`GET https://a/token?scope=repository%3Ax%3Apull: 401`:           `GET https://a/token?scope=repository%3Ax%3Apull: 401`,
		"see https://h/blob?sig=abc, then":                               "see https://h/blob?sig=<redacted>, then",
		"see https://h/blob?abcdef":                                      "see https://h/blob?<redacted>",
		"https://hooks.example/services/T00/B00/XyZ12 is":                "https://hooks.example/services/<redacted> is",
		"https://u:p@hooks.example/services/T00?x=1":                     "https://<redacted>@hooks.example/services/<redacted>?x=<redacted>",
		`Get "http://10.0.0.1:8099/hush7": dial tcp`:                     `Get "http://10.0.0.1:8099/<redacted>": dial tcp`,
		`Get "http://10.0.0.1:80/healthz/v1/ready": EOF`:                 "",
		"https://10.96.0.1:443/api/v1/namespaces/default/pods/web-7d9c5": "",
		"https://registry:5000/v2/a/b7/manifests/v1.2":                   "",
		"https://user:p/w7@registry/x":                                   "https://<redacted>@registry/x",
		"containerd://" + digest:                                         "",
		"unix:///run/containerd/containerd2.sock":                        "",
		// Values by name.
		"Authorization: Bearer abc.def-123":          "Authorization: Bearer <redacted>",
		"Authorization: Basic dXNlcjpwYXNz":          "Authorization: Basic <redacted>",
		"got bearer abc.def-123 from it":             "got bearer <redacted> from it",
		"basic authentication failed":                "basic authentication failed",
		`Bearer realm="https://a/token",service="a"`: `Bearer realm="https://a/token",service="a"`,
		`password="hunter2" given`:                   `password="<redacted>" given`,
		`password = hunter2`:                         `password = <redacted>`,
		`Password: it is`:                            `Password: <redacted> is`,
		`{"auths":{"r":{"auth":"dXNlcjpwYXNz"}}}`:    `{"auths":{"r":{"auth":"<redacted>"}}}`,
		`{\"password\":\"a\\\"b\",\"x\":\"y\"}`:      `{\"password\":\"<redacted>\",\"x\":\"y\"}`,
		`{"password":"a\"b","x":"y"}`:                `{"password":"<redacted>","x":"y"}`,
		`map[password:x y:z]`:                        `map[password:<redacted> y:z]`,
		`data:map[token:[115 51 99]] kind`:           `data:map[token:<redacted>] kind`,
		"DB_PASS=x MY_API_KEY=y":                     "DB_PASS=<redacted> MY_API_KEY=<redacted>",
		"-o username=a,password=b,c":                 "-o username=a,password=<redacted>",
		"automountServiceAccountToken:false":         "automountServiceAccountToken:false",
		// Tokens by their form.
		"x eyJhbGciOiJSUzI1NiJ9.eyJhIjoxfQ.c2ln y":                                   "x <redacted> y",
		"id AKIAIOSFODNN7EXAMPLE in":                                                 "id <redacted> in",
		"ghp_abcdefghijklmnopqrstuvwxyz0123456789":                                   "<redacted>",
		"AIzaSyA-1234567890abcdefghijklmnopqrstuv":                                   "<redacted>",
		"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIx\n-----END RSA PRIVATE KEY-----\nb": "a\n<redacted>\nb",
		"-----BEGIN PRIVATE KEY-----\nMIIx":                                          "<redacted>",
		// Commands in texts.
		"run mysql -u root -psecret now":        "run mysql -u root -p<redacted> now",
		"run redis --user u:p --password hush1": "run redis --user <redacted> --password <redacted>",
		"curl -u a:b http://x":                  "curl -u <redacted> http://x",
		`["login","--password","hush1"]`:        `["login","--password","<redacted>"]`,
		"sshpass -p 'se cret' ssh":              "sshpass -p '<redacted> cret' ssh",
		"mkdir -p /var/lib/kubelet failed":      "mkdir -p /var/lib/kubelet failed",
		"mysqladmin -psecret ping":              "mysqladmin -p<redacted> ping",
		"redis-cli -h x -a secret ping":         "redis-cli -h x -a <redacted> ping",
		`["redis-cli","-a","hush","ping"]`:      `["redis-cli","-a","<redacted>","ping"]`,
		"/usr/bin/valkey-cli -a 'hush' ping":    "/usr/bin/valkey-cli -a '<redacted>' ping",
		"ldapsearch -D cn=x -w secret -b y":     "ldapsearch -D cn=x -w <redacted> -b y",
		"ldapsearch -wsecret":                   "ldapsearch -w<redacted>",
		"sqlcmd -U sa -P hush -Q x":             "sqlcmd -U sa -P <redacted> -Q x",
		"curl -uadmin:hush http://x":            "curl -u<redacted> http://x",
		"curl -fsSu admin:hush http://x":        "curl -fsSu <redacted> http://x",
		"ls -a secret; grep -w secret x":        "ls -a secret; grep -w secret x",
		"my-redis-cli-tool -a x\nls -a y":       "my-redis-cli-tool -a x\nls -a y",
		"redis-cli ping\nls -a secret":          "redis-cli ping\nls -a secret",
		"rsync -uroot -uhttp://x":               "rsync -uroot -uhttp://x",
		"-a":                                    "-a",
		// What containers print.
		"command 'sh -c echo x' exited with 1: the output":          "command <redacted> exited with 1",
		"command 'sh -c echo x' exited with -1: out":                "command <redacted> exited with -1",
		"command 'sh -c 'x' exited with 1' exited with 2: s exited": "command <redacted> exited with 1",
		`command timed out: "echo x" timed out after 1s`:            "command timed out: <redacted> timed out after 1s",
		`Exec lifecycle hook ([sh -c x]) for Container "a" failed`:  `Exec lifecycle hook <redacted>`,
		`exec: "sh -c x": stat sh -c x: no such file`:               `exec: "<redacted>": stat <redacted>: no such file`,
		`exec: "nosuch": executable file not found in $PATH`:        `exec: "nosuch": executable file not found in $PATH`,
		`failed: "command 'a b' exited with 137: x", and y: "z"`:    `failed: "command <redacted> exited with 137`,
		// Paths, and why they cannot be opened.
		`open "/etc/passwd": permission denied`:   `open "/etc/passwd": permission denied`,
		`open /etc/passwd: permission denied`:     `open /etc/passwd: permission denied`,
		`read "/run/db/password": is a directory`: `read "/run/db/password": is a directory`,
		`stat "/run/db/password": EOF`:            `stat "/run/db/password": EOF`,
		`open "/run/x/password": hush7`:           `open "/run/x/password": <redacted>`,
		`{"/etc/passwd": "permission denied"}`:    `{"/etc/passwd": "<redacted>"}`,
		`"/etc/passwd":permission denied`:         `"/etc/passwd":<redacted> denied`,
		`"password": "x"`:                         `"password": "<redacted>"`,
		`password: EOFhush`:                       `password: <redacted>`,
		`open "/run/x/password": EOFhush`:         `open "/run/x/password": <redacted>`,
		// What is no secret.
		"nothing to see":          "nothing to see",
		"secret \"db\" not found": "secret \"db\" not found",
		"MountVolume.SetUp failed: object \"default\"/\"token\" gone":                                "",
		`MountVolume.SetUp failed for volume "db-password" : secret "db-password" not found`:         "",
		`failed to fetch token: serviceaccounts "x" is forbidden: User "u" cannot create`:            "",
		`failed to fetch anonymous token: unexpected status from GET request to https://a.io/t: 401`: "",
		"may require authorization: server message: insufficient_scope: authorization failed":        "",
		"ghcr.io/x/token-server:v1.2.3":                   "",
		"external-secrets:v0.9.1-rc1":                     "",
		"docker.io/library/busybox:1.35":                  "",
		"k8s.io/kubernetes@v1.36.3/pkg/kubelet.go:12":     "",
		"system:serviceaccount:kube-system:token-cleaner": "",
		"couldn't find key password in Secret default/db": "",
		`the command "kubeadm" is there`:                  "",
		"10.0.0.1:8080 [::1]:80 2026-01-02T03:04:05Z":     "",
		"goroutine 12 [running]: main.go:3 +0x1f":         "",
		"web-prod-7d9c5b8f6d-x2x4q":                       "",
	} {
		if want == "" {
			want = in
		}
		got := Text(in)
		if got != want {
			t.Errorf("Text(%q)\n   = %q\nwant %q", in, got, want)
		}
		if again := Text(got); again != got {
			t.Errorf("Text(%q)\n   = %q\nwhich is no more than it was", got, again)
		}
	}
}

var digest = strings.Repeat("0123abcd", 8)

// TestLongText: a secret beyond maxText is not shown, nor is half of a secret at that bound.
func TestLongText(t *testing.T) {
	for n := maxText - 40; n < maxText+4; n++ {
		for _, hidden := range []string{"https://user:hushhush@host/", "password=hushhush", "eyJhushhushhushhush", "command 'hushhush' exited with 1: hushhush"} {
			if got := Text(strings.Repeat("x", n-1) + " " + hidden); strings.Contains(got, "hush") {
				t.Fatalf("%q behind %d bytes shows %q", hidden, n, got[n-1:])
			}
		}
	}
	if got := Text(strings.Repeat("=", 2*maxText)); len(got) > maxText {
		t.Errorf("%d bytes are shown", len(got))
	}
}

// TestNothingIsAllocated: a clean text costs no allocation.
func TestNothingIsAllocated(t *testing.T) {
	for _, s := range []string{"app", "sync", "Running", digest, "69b9328f-ced8-40fa-9f3f-81e489b72a21", message} {
		if n := testing.AllocsPerRun(100, func() { Text(s) }); n != 0 {
			t.Errorf("%q: %v allocations", s, n)
		}
	}
}

const message = `rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/busybox:no-such-tag": failed to resolve reference "docker.io/library/busybox:no-such-tag": docker.io/library/busybox`

// FuzzText: Text ends for any text, and does not change its own result.
func FuzzText(f *testing.F) {
	f.Add(message)
	f.Add(`{"password":"a\"b","token": ["x"]} -p s --user a:b@c https://u:p@h/?sig=x`)
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if len(s) <= maxText && !strings.Contains(s, "redacted") {
			if n := strings.Count(got, Redacted); len(got) > len(s)+n*len(Redacted) {
				t.Errorf("%q became longer: %q", s, got)
			}
		}
		_, _ = json.Marshal(got)
	})
}

func BenchmarkText(b *testing.B) {
	for _, c := range []struct{ name, s string }{
		{"name", "app"}, {"pod", "web-7d9c5b8f6d-x2x4q"}, {"uid", "69b9328f-ced8-40fa-9f3f-81e489b72a21"}, {"containerID", digest},
		{"image", "docker.io/library/busybox:1.35"}, {"message200", message}, {"secret", "pull https://user:pw@registry/x failed"},
	} {
		b.Run(fmt.Sprintf("%s-%d", c.name, len(c.s)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Text(c.s)
			}
		})
	}
}

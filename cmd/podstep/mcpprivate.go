package main

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/podstep/podstep/agent/mcp"
)

// What stands in the place of texts that do not leave this machine.
const (
	asPath    = "[path]"
	asAddress = "[address]"
	asSecret  = "[secret]"
	asName    = "[name]"
)

// private returns the texts that no answer to an assistant shows: the places of podstep's sources on this machine, and
// what the kubeconfig has.
func (o *oncall) private() (out []mcp.Private) {
	path := func(paths ...string) {
		for _, p := range paths {
			out = append(out, ofPath(p, asPath)...)
		}
	}
	for i := range o.recordings {
		r := &o.recordings[i]
		out = append(out, ofPath(r.path, r.name)...)
	}
	path(o.app.socketOrDefault())
	home, _ := os.UserHomeDir()
	work, _ := os.Getwd()
	self, _ := os.Executable()
	// A container may have the same directories: what is shown of pods may name them.
	for _, dir := range []string{home, work, os.TempDir()} {
		out = append(out, mcp.Private{Text: dir, As: asPath, Word: true})
	}
	path(self)
	rules := o.app.loading()
	path(rules.ExplicitPath)
	path(rules.GetLoadingPrecedence()...)
	if config, err := rules.Load(); err == nil {
		out = append(out, ofKubeconfig(config)...)
	}
	return out
}

// ofPath returns a path as it was given and as a whole, and its directory.
func ofPath(path, as string) (out []mcp.Private) {
	if path == "" {
		return nil
	}
	out = append(out, mcp.Private{Text: path, As: as})
	if whole, err := filepath.Abs(path); err == nil {
		out = append(out, mcp.Private{Text: whole, As: as}, mcp.Private{Text: filepath.Dir(whole), As: asPath, Word: slices.Contains(usual, filepath.Dir(whole))})
	}
	return out
}

// usual are directories that every node has. What is shown of pods may name them.
var usual = []string{"/run", "/var/run", "/tmp", "/etc", "/etc/kubernetes", "/var/log", "/var/log/pods", "/var/lib", "/var/lib/kubelet"}

// ofKubeconfig returns what a kubeconfig has: addresses, credentials and where they are, and names.
func ofKubeconfig(c *api.Config) (out []mcp.Private) {
	add := func(as string, texts ...string) {
		for _, t := range texts {
			out = append(out, mcp.Private{Text: t, As: as})
		}
	}
	name := func(text string) {
		out = append(out, mcp.Private{Text: `"` + text + `"`, As: `"` + asName + `"`, Word: true})
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) { // else it may be a usual word
			out = append(out, mcp.Private{Text: text, As: asName, Word: true})
		}
	}
	for n, x := range c.Clusters {
		name(n)
		add(asAddress, x.Server, x.ProxyURL)
		if u, err := url.Parse(x.Server); err == nil {
			add(asAddress, u.Host)
			out = append(out, mcp.Private{Text: u.Hostname(), As: asAddress, Word: true})
		}
		add(asPath, x.CertificateAuthority)
		name(x.TLSServerName)
	}
	for n, x := range c.Contexts {
		name(n)
		name(x.AuthInfo)
	}
	for n, x := range c.AuthInfos {
		name(n)
		name(x.Username)
		name(x.Impersonate)
		add(asSecret, x.Token, x.Password, string(x.ClientKeyData), string(x.ClientCertificateData))
		add(asPath, x.TokenFile, x.ClientKey, x.ClientCertificate)
		if x.AuthProvider != nil {
			for _, v := range x.AuthProvider.Config {
				add(asSecret, v)
			}
		}
		if x.Exec != nil {
			add(asPath, x.Exec.Command)
			for _, arg := range x.Exec.Args {
				name(arg)
			}
			for _, e := range x.Exec.Env {
				name(e.Value)
			}
		}
	}
	return out
}

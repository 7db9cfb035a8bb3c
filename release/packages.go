package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // makes .apk
	_ "github.com/goreleaser/nfpm/v2/deb" // makes .deb
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // makes .rpm
)

// unitFile is podstep's systemd unit, for people who copy it.
const unitFile = "docs/examples/attach/podstep.service"

// manDir has the manual pages of a system.
const manDir = "/usr/share/man/man1/"

const (
	summary     = "shows how pods move through the kubelet, and holds single pods"
	description = `podstep shows each pod move through the real kubelet of a node, from the
list/watch of the API server to Running, and until it is gone. It can hold one
pod at a step and let it go on step by step, while every other pod on the node
runs on, and it finds out why a pod is stuck.
.
The service that attaches podstep to the node's kubelet is not enabled:
systemctl enable --now podstep.`
)

// packages makes the packages of the Linux targets.
func (r *release) packages() error {
	for _, t := range r.linux() {
		for _, format := range []string{"deb", "rpm", "apk"} {
			if err := r.makePackage(t, format); err != nil {
				return err
			}
		}
	}
	return nil
}

// makePackage makes one package. Its name is like that of the archives: GitHub renames files with a tilde, which the names
// of Debian and Fedora have for versions before a release.
func (r *release) makePackage(t target, format string) error {
	contents, err := r.contents(t, format)
	if err != nil {
		return err
	}
	info := &nfpm.Info{
		Name: "podstep", Arch: t.arch, Platform: t.os, Version: r.version, VersionSchema: "semver", Release: "1",
		Section: "admin", Priority: "optional", Maintainer: "The podstep Authors <podstep@users.noreply.github.com>",
		Description: summary + "\n" + description, Vendor: "podstep", Homepage: homepage, License: "Apache-2.0", MTime: r.made, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: contents,
			RPM:      nfpm.RPM{BuildHost: "localhost", Summary: summary, Group: "Applications/System"},
		},
	}
	switch format {
	case "deb":
		info.Release = "" // the package is podstep's own: it has no revisions of Debian's
	case "rpm":
		info.Description = strings.ReplaceAll(description, "\n.\n", "\n\n")
	case "apk":
		info.Description, info.Release, info.Version, info.VersionSchema = summary, "r0", alpineVersion(r.version), "none"
	}
	if format != "apk" { // Alpine has no systemd
		dir := filepath.Join(r.repo, "release", "packaging")
		info.Scripts = nfpm.Scripts{PostInstall: filepath.Join(dir, "postinst.sh"), PreRemove: filepath.Join(dir, "prerm.sh"), PostRemove: filepath.Join(dir, "postrm.sh")}
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return fmt.Errorf("make a package: %w", err)
	}
	return r.create(r.fileName(t.String()+"."+format), func(f *os.File) error { return packager.Package(nfpm.WithDefaults(info), f) })
}

// alpineVersion returns a version in Alpine's form, such as 0.1.0_rc1, which sorts before 0.1.0.
func alpineVersion(version string) string {
	number, before, ok := strings.Cut(version, "-")
	if !ok {
		return number
	}
	return number + "_" + strings.NewReplacer(".", "", "dev", "pre").Replace(before)
}

// contents returns the files of a package. nfpm reads them from files, so those that differ from the repository's are
// written first.
func (r *release) contents(t target, format string) (files.Contents, error) {
	var all files.Contents
	add := func(mode os.FileMode, source, destination string) {
		all = append(all, &files.Content{Source: source, Destination: destination, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.made}})
	}
	add(0o755, r.program(t), "/usr/bin/podstep")
	link := func(target, path string) {
		add(0o777, target, path)
		all[len(all)-1].Type = files.TypeSymlink
	}
	link("podstep", "/usr/bin/kubectl-podstep") // for "kubectl podstep"
	link("podstep.1.gz", manDir+"kubectl-podstep.1.gz")
	if format == "rpm" { // rpm removes only directories that a package owns
		for _, dir := range []string{"/usr/share/doc/podstep", "/usr/share/licenses/podstep"} {
			add(0o755, "", dir)
			all[len(all)-1].Type = files.TypeDir
		}
	}
	zsh := map[string]string{"deb": "/usr/share/zsh/vendor-completions/_podstep"}[format]
	if zsh == "" {
		zsh = "/usr/share/zsh/site-functions/_podstep"
	}
	for name, destination := range map[string]string{
		"podstep": "/usr/share/bash-completion/completions/podstep", "podstep.fish": "/usr/share/fish/vendor_completions.d/podstep.fish", "_podstep": zsh,
	} {
		add(0o644, filepath.Join(r.stage, "completions", name), destination)
	}
	written, err := r.packageTexts(format)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.stage, t.String()+"_"+format)
	for destination, text := range written {
		source := filepath.Join(dir, destination)
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return nil, fmt.Errorf("prepare a package: %w", err)
		}
		if err := os.WriteFile(source, text, 0o644); err != nil {
			return nil, fmt.Errorf("prepare a package: %w", err)
		}
		add(0o644, source, destination)
	}
	return all, nil
}

// packageTexts returns the texts of a package by their paths: manual pages, the unit, licences, what has changed.
func (r *release) packageTexts(format string) (map[string][]byte, error) {
	all := map[string][]byte{}
	pages, err := entriesIn(r.stage, "man")
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		all[manDir+filepath.Base(page.name)+".gz"] = gzipped(page.data)
	}
	copies := map[string]string{"NOTICE": "/usr/share/doc/podstep/NOTICE", "README.md": "/usr/share/doc/podstep/README.md", "docs/attach.md": "/usr/share/doc/podstep/attach.md"}
	switch format {
	case "deb":
		copies["release/packaging/copyright"] = "/usr/share/doc/podstep/copyright"
	default:
		copies["LICENSE"] = "/usr/share/licenses/podstep/LICENSE"
	}
	for from, to := range copies {
		if all[to], err = r.read(from); err != nil {
			return nil, err
		}
	}
	changes, err := r.read("CHANGELOG.md")
	if err != nil {
		return nil, err
	}
	all["/usr/share/doc/podstep/CHANGELOG.md.gz"] = gzipped(changes)
	if format == "deb" {
		all["/usr/share/doc/podstep/changelog.gz"] = gzipped(r.debianChangelog())
	}
	if format != "apk" {
		unit, err := r.read(unitFile)
		if err != nil {
			return nil, err
		}
		if all["/usr/lib/systemd/system/podstep.service"], err = packagedUnit(unit); err != nil {
			return nil, err
		}
		if all["/usr/lib/systemd/system-preset/50-podstep.preset"], err = r.read("release/packaging/50-podstep.preset"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// debianChangelog returns the one entry that Debian wants of each version, in its form.
func (r *release) debianChangelog() []byte {
	return fmt.Appendf(nil, "podstep (%s) unstable; urgency=medium\n\n  * Release %s: see CHANGELOG.md.gz in this directory.\n\n -- The podstep Authors <podstep@users.noreply.github.com>  %s\n",
		strings.Replace(r.version, "-", "~", 1), r.version, r.made.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
}

// packagedUnit returns the unit with the paths of a package. The comment that says where to copy it is left out.
func packagedUnit(unit []byte) ([]byte, error) {
	const local, packaged = "=/usr/local/bin/podstep ", "=/usr/bin/podstep "
	if bytes.Count(unit, []byte(local)) != 2 {
		return nil, fmt.Errorf("%s runs another program than /usr/local/bin/podstep", unitFile)
	}
	const copying = "# Copy it to /etc/systemd/system, then: systemctl enable --now podstep\n"
	if !bytes.Contains(unit, []byte(copying)) {
		return nil, fmt.Errorf("%s no longer says where to copy it", unitFile)
	}
	unit = bytes.ReplaceAll(unit, []byte(local), []byte(packaged))
	return bytes.Replace(unit, []byte(copying), []byte("# It is off until: systemctl enable --now podstep\n"), 1), nil
}

func gzipped(text []byte) []byte {
	var b bytes.Buffer
	_ = gzipTo(&b, func(w io.Writer) error { _, err := w.Write(text); return err }) // a buffer takes all
	return b.Bytes()
}

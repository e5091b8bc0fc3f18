package tools

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// fileFilter tells which files of a folder are searched.
type fileFilter struct {
	include, exclude []fileGlob
	types            []string // patterns for names; none: any file
}

// fileGlob is a glob as ripgrep takes it: without a slash, it is about names in whatever folder.
type fileGlob struct {
	pattern  string
	anywhere bool
}

func (g fileGlob) matches(rel string) bool {
	if g.anywhere {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(g.pattern, rel)
}

func newFileFilter(globs, fileType string) (*fileFilter, error) {
	f := &fileFilter{}
	for _, glob := range splitGlobs(globs) {
		pattern, negated := strings.CutPrefix(glob, "!")
		pattern = strings.TrimSuffix(pattern, "/")
		if !doublestar.ValidatePattern(pattern) {
			return nil, refuse("%q is not a valid glob: a bracket or brace is not closed, or a backslash stands at its end.", glob)
		}
		g := fileGlob{strings.TrimPrefix(pattern, "/"), !strings.Contains(pattern, "/")}
		if negated {
			f.exclude = append(f.exclude, g)
		} else {
			f.include = append(f.include, g)
		}
	}
	if fileType != "" {
		names, ok := fileTypes[fileType]
		if !ok {
			return nil, refuse("There is no type %q. Use a glob, or one of: %s.", fileType, strings.Join(typeNames(), ", "))
		}
		f.types = strings.Fields(names)
	}
	return f, nil
}

// splitGlobs splits at white space and at commas, but not within braces.
func splitGlobs(globs string) []string {
	depth := 0
	return strings.FieldsFunc(globs, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return r == ' ' || r == ',' && depth <= 0
	})
}

func (f *fileFilter) enters(dir string) bool { return !matchesAny(f.exclude, dir) }

// takes tells whether a file is searched. As in ripgrep, a glob that asks for it wins over what is ignored.
func (f *fileFilter) takes(rel string, ignored func() bool) bool {
	if matchesAny(f.exclude, rel) {
		return false
	}
	if f.types != nil && !slices.ContainsFunc(f.types, func(name string) bool {
		ok, _ := path.Match(name, path.Base(rel))
		return ok
	}) {
		return false
	}
	if f.include != nil {
		return matchesAny(f.include, rel)
	}
	return !ignored()
}

func matchesAny(globs []fileGlob, rel string) bool {
	return slices.ContainsFunc(globs, func(g fileGlob) bool { return g.matches(rel) })
}

// fileTypes are the types that ripgrep knows and that matter, with their names.
var fileTypes = map[string]string{
	"asm": "*.asm *.s *.S", "c": "*.[chH] *.[chH].in *.cats", "clojure": "*.clj *.cljc *.cljs *.cljx", "cmake": "*.cmake CMakeLists.txt",
	"config": "*.cfg *.conf *.config *.ini", "cpp": "*.[ChH] *.cc *.[ch]pp *.[ch]xx *.hh *.inl *.[ChH].in *.cc.in *.[ch]pp.in *.[ch]xx.in *.hh.in",
	"cs": "*.cs", "csharp": "*.cs", "css": "*.css *.scss", "csv": "*.csv", "cuda": "*.cu *.cuh", "dart": "*.dart", "diff": "*.diff *.patch",
	"docker": "*Dockerfile*", "elixir": "*.ex *.eex *.exs *.heex *.leex *.livemd", "elm": "*.elm", "erlang": "*.erl *.hrl",
	"fsharp": "*.fs *.fsi *.fsx", "go": "*.go", "gradle": "*.gradle *.gradle.kts gradle.properties", "graphql": "*.graphql *.graphqls",
	"groovy": "*.gradle *.groovy", "h": "*.h *.hh *.hpp", "haskell": "*.c2hs *.cpphs *.hs *.hsc *.lhs", "html": "*.htm *.html *.ejs",
	"java": "*.java *.jsp *.jspx *.properties", "js": "*.js *.jsx *.vue *.cjs *.mjs", "json": "*.json *.jsonl *.ipynb composer.lock .bowerrc",
	"julia": "*.jl", "jupyter": "*.ipynb *.jpynb", "kotlin": "*.kt *.kts", "less": "*.less", "lisp": "*.el *.jl *.lisp *.lsp *.sc *.scm", "lock": "*.lock package-lock.json",
	"log": "*.log", "lua": "*.lua", "make": "*.mak *.mk Makefile* makefile* GNUmakefile*", "markdown": "*.markdown *.md *.mdown *.mdwn *.mdx *.mkd *.mkdn",
	"md": "*.markdown *.md *.mdown *.mdwn *.mdx *.mkd *.mkdn", "nix": "*.nix", "objc": "*.h *.m", "objcpp": "*.h *.mm", "ocaml": "*.ml *.mli *.mll *.mly",
	"perl": "*.pl *.PL *.perl *.plh *.plx *.pm *.t", "php": "*.php *.php3 *.php4 *.php5 *.php7 *.php8 *.pht *.phtml", "prolog": "*.P *.pl *.pro *.prolog",
	"protobuf": "*.proto", "ps": "*.cdxml *.ps1 *.ps1xml *.psd1 *.psm1", "py": "*.py *.pyi", "python": "*.py *.pyi", "r": "*.R *.r *.Rmd *.Rnw *.rmd",
	"rst": "*.rst", "ruby": "*.rb *.rbw *.gemspec config.ru Gemfile .irbrc Rakefile", "rust": "*.rs", "sass": "*.sass *.scss", "scala": "*.sbt *.scala",
	"sh": "*.bash *.csh *.env *.ksh *.sh *.tcsh *.zsh .bashrc .bash_profile .profile .zshrc .zshenv bashrc zshrc", "sql": "*.psql *.sql", "svelte": "*.svelte", "svg": "*.svg",
	"swift": "*.swift", "terraform": "*.tf *.tf.json *.tfvars *.tfvars.json", "tex": "*.bib *.cls *.dtx *.ins *.ltx *.sty *.tex", "tf": "*.tf *.tf.json *.tfvars *.tfvars.json",
	"toml": "*.toml Cargo.lock", "ts": "*.cts *.mts *.ts *.tsx", "txt": "*.txt", "typescript": "*.cts *.mts *.ts *.tsx", "vim": "*.vim .vimrc vimrc", "vue": "*.vue",
	"wgsl": "*.wgsl", "xml": "*.dtd *.rng *.sch *.xhtml *.xjb *.xml *.xml.dist *.xsd *.xsl *.xslt", "yaml": "*.yaml *.yml", "zig": "*.zig",
}

func typeNames() []string {
	var names []string
	for name := range fileTypes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Renders the Helm chart as `helm template` does, on the libraries that Helm itself uses for templates. Helm takes five minutes to build
// where no package of it is to be had; this takes seconds. Where Helm is on the PATH, test/service/chart.test.ts compares the two.
//
//	chart render CHART RELEASE VALUES.json    writes the rendered documents as one JSON array
//	chart read FILE                           writes the documents of a YAML file so
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

type values = map[string]any

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 4 && arguments[0] == "render":
		text, err := render(arguments[1], arguments[2], arguments[3])
		if err != nil {
			return err
		}
		return writeDocuments(text)
	case len(arguments) == 2 && arguments[0] == "read":
		text, err := os.ReadFile(arguments[1])
		if err != nil {
			return err
		}
		return writeDocuments(string(text))
	}
	return fmt.Errorf("usage: chart render CHART RELEASE VALUES.json | chart read FILE")
}

var between = regexp.MustCompile(`(?m)^---.*$`)

func writeDocuments(text string) error {
	documents := []json.RawMessage{}
	for _, part := range between.Split(text, -1) {
		document, err := yaml.YAMLToJSONStrict([]byte(part))
		if err != nil {
			return fmt.Errorf("%w in:\n%s", err, part)
		}
		if string(document) != "null" {
			documents = append(documents, document)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(documents)
}

func render(chart, release, given string) (string, error) {
	about, err := readYaml(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		return "", err
	}
	all, err := readYaml(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return "", err
	}
	own, err := readYaml(given)
	if err != nil {
		return "", err
	}
	root := values{
		"Values":  merged(all, own),
		"Chart":   values{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
		"Release": values{"Name": release, "Namespace": "default", "Service": "Helm"},
	}
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil {
		return "", err
	}
	sort.Strings(files)
	// As in Helm, a value that is not there is empty.
	templates := template.New("chart").Option("missingkey=zero")
	templates.Funcs(sprig.TxtFuncMap()).Funcs(functions(templates))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if _, err := templates.New(filepath.Base(file)).Parse(string(text)); err != nil {
			return "", err
		}
	}
	rendered := ""
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var out bytes.Buffer
		if err := templates.ExecuteTemplate(&out, name, root); err != nil {
			return "", err
		}
		text := strings.ReplaceAll(out.String(), "<no value>", "")
		if name == "NOTES.txt" || strings.TrimSpace(text) == "" {
			continue
		}
		rendered += "---\n" + text + "\n"
	}
	return rendered, nil
}

// Those that Helm has beside the ones of sprig.
func functions(templates *template.Template) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out strings.Builder
			err := templates.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"toYaml": func(value any) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"toJson": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		"fromYaml": func(text string) (values, error) {
			read := values{}
			return read, yaml.Unmarshal([]byte(text), &read)
		},
	}
}

func readYaml(file string) (values, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	read := values{}
	return read, yaml.Unmarshal(text, &read)
}

func merged(base, over values) values {
	for name, value := range over {
		inner, isMap := value.(values)
		below, hasMap := base[name].(values)
		if isMap && hasMap {
			base[name] = merged(below, inner)
		} else {
			base[name] = value
		}
	}
	return base
}

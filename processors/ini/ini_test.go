package ini_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/ini"
)

func TestParseKeepsEveryLine(t *testing.T) {
	text := "\ufeff# top\r\n\r\n[General]\r\nipv6 = false\r\n; c\r\n[ Rule ]\r\nFINAL,PROXY\r\n[General]\r\n\r\nx"
	got, err := ini.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	want := ini.Document{
		BOM: true, Newline: "\r\n",
		Preamble: []string{"# top", ""},
		Sections: []ini.Section{
			{Name: "General", Lines: []string{"ipv6 = false", "; c"}},
			{Name: "Rule", Lines: []string{"FINAL,PROXY"}},
			{Name: "General", Lines: []string{"", "x"}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	back, err := got.Text()
	if err != nil || back != strings.Replace(text, "[ Rule ]", "[Rule]", 1) {
		t.Errorf("got %q, %v", back, err)
	}
}

func TestParseOfNothingIsAnEmptyDocument(t *testing.T) {
	got, err := ini.Parse("")
	if err != nil || got.Newline != "\n" || got.TrailingNewline || got.BOM || len(got.Sections) != 0 || got.Preamble == nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParseRefusesHeadersWithoutName(t *testing.T) {
	for text, want := range map[string]string{
		"a\n[]":     "line 2: empty section header",
		"[ \t]\n":   "line 1: empty section header",
		"\n[a[b]\n": "line 2: invalid section header",
		"[a]]":      "line 1: invalid section header",
	} {
		_, err := ini.Parse(text)
		if e := sandrone.AsError(err); e == nil || e.Code != sandrone.FileMergeFailed || e.Message != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestTextRefusesWhatWouldNotComeBack(t *testing.T) {
	section := func(name string, lines ...string) []ini.Section { return []ini.Section{{Name: name, Lines: lines}} }
	for name, d := range map[string]ini.Document{
		"newline":               {Newline: "\r"},
		"empty name":            {Sections: section("")},
		"untrimmed name":        {Sections: section(" a")},
		"bracket in name":       {Sections: section("a]")},
		"line break in name":    {Sections: section("a\nb")},
		"line break in line":    {Sections: section("a", "x\ny")},
		"return in preamble":    {Preamble: []string{"x\r"}},
		"header as line":        {Sections: section("a", " [b] ")},
		"header in preamble":    {Preamble: []string{"[b]"}},
		"newline after no line": {TrailingNewline: true},
	} {
		if text, err := d.Text(); err == nil {
			t.Errorf("%s: got %q, want an error", name, text)
		}
	}
}

func TestOverride(t *testing.T) {
	for _, c := range []struct{ name, current, patch, want string }{
		{"merge replaces in place and drops later ones", "[A]\nk=1\nx\nk = 2\n", "[A]\nk = 3\n", "[A]\nk = 3\nx\n"},
		{"merge appends a new key", "[A]\nk=1\n", "[a]\nK=2\n", "[A]\nk=1\nK=2\n"},
		{"merge takes the last of a repeated patch key", "[A]\nk=1\n", "[A]\nk=2\nk=3\n", "[A]\nk=3\n"},
		{"merge adds records once", "[R]\nFINAL,P\n", "[R]\n FINAL,P\nD,a=b,P\nD,a=b,P\n", "[R]\nFINAL,P\nD,a=b,P\n"},
		{"merge does not read comments as assignments", "[A]\n#k=1\n", "[A]\n#k=2\n;x\n", "[A]\n#k=1\n#k=2\n;x\n"},
		{"prepend", "[R]\nb\n", "[+R]\na\n\n", "[R]\na\n\nb\n"},
		{"append", "[R]\nb\n", "[R+]\nc\n", "[R]\nb\nc\n"},
		{"replace", "[R]\nb\nc\n[S]\nd\n", "[R!]\nx\n", "[R]\nx\n[S]\nd\n"},
		{"delete all of a name", "[R]\nb\n[S]\nd\n[r]\ne\n", "[R-]\n# gone\n\n", "[S]\nd\n"},
		{"delete of a missing one", "[S]\n", "[R-]\n", "[S]\n"},
		{"sections of one name become one", "[R]\na\n[S]\nd\n[r]\nb\n", "[R+]\nc\n", "[R]\na\nb\nc\n[S]\nd\n"},
		{"literal name", "[S+]\na=1\n", "[<S+>]\na=2\n", "[S+]\na=2\n"},
		{"sign alone is a name", "[+]\na=1\n", "[+]\na=2\n", "[+]\na=2\n"},
		{"missing section goes to the end", "[A]\nx=1", "[New+]\ny\n", "[A]\nx=1\n[New]\ny"},
		{"prepend to a missing section", "", "[+New]\ny\n", "[New]\ny"},
		{"deleted and made again", "[A]\nx\n[B]\ny\n", "[A-]\n[A]\nz\n", "[B]\ny\n[A]\nz\n"},
		{"preamble of the patch is ignored", "top\n[A]\nx=1\n", "junk\n[A]\nx=2\n", "top\n[A]\nx=2\n"},
		{"marks and newlines are those of current", "\ufeff[ A ]\r\nx=1\r\n", "[A]\nx=2\ny=3\n", "\ufeff[ A ]\r\nx=2\r\ny=3\r\n"},
		{"mixed newlines stay where they are", "[A]\nx=1\r\ny=1\n", "[A]\nz=1\n", "[A]\nx=1\r\ny=1\nz=1\n"},
		{"bom of the patch is no text", "[A]\n", "\ufeff[A]\nx\n", "[A]\nx\n"},
		{"empty patch", "a\n[A]\n b \n\n", "", "a\n[A]\n b \n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ini.Override(c.current, c.patch)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestOverrideNamesPartAndSectionOfAFault(t *testing.T) {
	for _, c := range []struct{ current, patch, part, path string }{
		{"[]\n", "", "current", ""},
		{"", "[a[]\n", "overlay", ""},
		{"", "[+S+]\n", "overlay", "/+S+"},
		{"", "[+S!]\n", "overlay", "/+S!"},
		{"", "[+S-]\n", "overlay", "/+S-"},
		{"", "[S-]\nx=1\n", "overlay", "/S-"},
		{"", "[< >]\n", "overlay", "/< >"},
		{"", "[+ ]\n[ +]\n[+  x -]\n", "overlay", "/+  x -"},
	} {
		_, err := ini.Override(c.current, c.patch)
		e, ok := errors.AsType[*sandrone.Error](err)
		if !ok || e.Code != sandrone.FileMergeFailed || e.Part != c.part || e.Path != c.path {
			t.Errorf("%q: got %#v", c.patch, err)
		}
	}
}

func TestOverrideBoundsItsWork(t *testing.T) {
	current := "[A]\n" + strings.Repeat("x,\n", 1<<16)
	if _, err := ini.Override(current, strings.Repeat("[A+]\ny\n", 1<<12)); sandrone.AsError(err) == nil {
		t.Error("quadratic work was done")
	}
	// As many sections of different names are no trouble.
	var many strings.Builder
	for i := range 1 << 14 {
		many.WriteString("[S" + strings.Repeat("i", i%7) + string(rune('a'+i%26)) + "]\nk=1\n")
	}
	if _, err := ini.Override(many.String(), many.String()); err != nil {
		t.Error(err)
	}
}

func TestCorpus(t *testing.T) {
	data, err := os.ReadFile("testdata/processors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for l := range bytes.Lines(data) {
		var c struct {
			ID        string
			Processor struct{ Params struct{ Content string } }
			Input     struct{ File struct{ Content string } }
			Expect    struct{ Content string }
		}
		if err := json.Unmarshal(l, &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.ID, func(t *testing.T) {
			got, err := ini.Override(c.Input.File.Content, c.Processor.Params.Content)
			if err != nil || got != c.Expect.Content {
				t.Errorf("got %q, %v; want %q", got, err, c.Expect.Content)
			}
		})
	}
}

// What is parsed and put together again is parsed to the same, and an override
// that names a section merges it, whatever the texts are.
func FuzzOverride(f *testing.F) {
	f.Add("# top\n[A]\nx = 1\n", "[+A]\ny\n[B-]\n")
	f.Add("\ufeff[A]\r\n\r\n[a]\nz", "[A!]\n")
	f.Fuzz(func(t *testing.T, current, patch string) {
		d, err := ini.Parse(current)
		if err != nil {
			return
		}
		if same, err := ini.Override(current, ""); err != nil || same != current {
			t.Fatalf("an empty patch changed %q to %q (%v)", current, same, err)
		}
		if text, err := d.Text(); err == nil {
			again, err := ini.Parse(text)
			if err != nil || !reflect.DeepEqual(again, d) {
				t.Fatalf("%q came back as %+v, was %+v (%v)", text, again, d, err)
			}
		}
		if out, err := ini.Override(current, patch); err == nil {
			if _, err := ini.Parse(out); err != nil {
				t.Fatalf("the result %q is no document: %v", out, err)
			}
		}
	})
}

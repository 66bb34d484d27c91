package region_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone/processors/region"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct{ name, id, text string }{
		// A flag, then the longest term, then the first code.
		{"🇭🇰 US 01", "hk", "🇭🇰"},
		{"US 🇯🇵🇭🇰", "jp", "🇯🇵"},
		{"🇪🇺🇸🇪", "se", "🇸🇪"}, // the halves of an unknown pair make no other one
		{"🏴󠁧󠁢󠁥󠁮󠁧󠁿 Leeds", "uk", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"},
		{"🏴‍☠️ 香港", "hk", "香港"},
		{"香港 Japan", "jp", "Japan"},
		{"台湾 香港", "tw", "台湾"},
		{"中国香港 01", "hk", "中国香港"},
		{"South Korea", "kr", "South Korea"},
		{"TW-01 · SS", "tw", "TW"},
		{"US-01 · SS", "us", "US"},
		{"Belarus 03", "by", "Belarus"},
		{"白俄罗斯", "by", "白俄罗斯"},
		{"New Zealand 1", "nz", "New Zealand"},
		{"HK01", "hk", "HK"},
		{"vip_hk_2", "hk", "hk"},
		{"IEPL-SG→US", "sg", "SG"},
		{"专线HK|2x", "hk", "HK"},
		{"Frankfurt", "de", "Frankfurt"},
		{"LAX 3", "us", "LAX"},
		{"TÜRKIYE 1", "tr", "Türkiye"},
		{"亚美尼亚", "am", "亚美尼亚"},
		{"美属维尔京群岛", "vi", "美属维尔京群岛"},
		{"法属圭亚那", "gf", "法属圭亚那"},
		{"印度尼西亚", "id", "印度尼西亚"},
		{"Papua New Guinea", "pg", "Papua New Guinea"},
		{"Romania", "ro", "Romania"},
		{"Saint Lucia", "lc", "Saint Lucia"},

		// Codes of English words, and of countries outside the short list.
		{"IN 1", "in", "IN"},
		{"node in my list", "", ""},
		{"it is so", "", ""},
		{"NL 1", "nl", "NL"},
		{"nl 1", "", ""},
		{"hk 1", "hk", "hk"},

		// Protocol words and quantities.
		{"SS 01", "", ""},
		{"WS TLS AI TV H2 TCP UDP", "", ""},
		{"剩余 50GB", "", ""},
		{"剩余 50 GB", "", ""},
		{"London GB", "uk", "London"},
		{"GB 50", "uk", "GB"},
		{"US CN2 GIA", "us", "US"},
		{"CN2 HK", "hk", "HK"},
		{"CN 2", "cn", "CN"},
		{"CN25", "cn", "CN"},

		// A Latin name counts as a word.
		{"Romantic Normalised Irangate", "", ""},
		{"Tirana", "", ""},
		{"Oman", "om", "Oman"},
		{"线路Oman线路", "om", "Oman"},
		{"", "", ""},
	} {
		m, ok := region.Default().Detect(c.name)
		id := ""
		if ok {
			id = m.Region.ID
		}
		if id != c.id || m.Text != c.text {
			t.Errorf("%q: got %q by %s %q, want %q by %q", c.name, id, m.Kind, m.Text, c.id, c.text)
		}
	}
}

func TestEveryCountryIsKnownByItsFlagItsNamesAndItsCode(t *testing.T) {
	text, err := os.ReadFile("countries.tsv")
	if err != nil {
		t.Fatal(err)
	}
	table := region.Default()
	count := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 4 {
			continue
		}
		count++
		code, id := f[0], strings.ToLower(f[0])
		if code == "GB" {
			id = "uk"
		}
		for _, name := range append(f[1:], region.Flag(code)) {
			if m, ok := table.Detect("x " + name + " 1"); !ok || m.Region.ID != id {
				t.Errorf("%s %q: got %+v", code, name, m.Region)
			}
		}
		m, ok := table.Detect("-" + code + "1")
		protocol := slices.Contains([]string{"SS", "WS", "AI", "TV"}, code)
		if ok == protocol || ok && m.Region.ID != id {
			t.Errorf("code %s: got %v", code, m)
		}
		if r := table.Region(strings.ToUpper(id)); r == nil || r.Flag != region.Flag(code) || r.English == "" || r.Chinese == "" {
			t.Errorf("%s: %+v", id, r)
		}
	}
	if count != 249 || len(table.Regions()) != 249 {
		t.Errorf("%d countries, %d regions", count, len(table.Regions()))
	}
}

func TestPatternsOfPopularRegionsCompileAndFindTheirNodes(t *testing.T) {
	for _, r := range region.Default().Regions()[:22] {
		include, exclude := r.Patterns()
		re := regexp.MustCompile(include)
		if !r.Popular {
			t.Fatalf("%s is not popular", r.ID)
		}
		for _, name := range append(slices.Clone(r.Terms), r.Flag, r.Codes[0]+"01", "a "+strings.ToLower(r.Codes[0])) {
			if !re.MatchString(name) {
				t.Errorf("%s: %q is not found by %s", r.ID, name, include)
			}
		}
		if (exclude == "") != (len(r.Exclude) == 0) {
			t.Errorf("%s: exclude %q", r.ID, exclude)
		}
		for _, name := range r.Exclude {
			if !regexp.MustCompile(exclude).MatchString(name) {
				t.Errorf("%s: %q is not excluded", r.ID, name)
			}
		}
	}
}

func TestExtraRegionsAddToTheTableOrMakeNewOnes(t *testing.T) {
	table, err := region.Default().With([]region.Extra{
		{ID: "HK", Flag: "🏝", Terms: []string{"Lantau"}, Codes: []string{"hkx"}},
		{ID: "x", Terms: []string{"狮"}},
		{ID: "iplc", Terms: []string{"香港"}, Exclude: []string{"直连"}},
		{ID: "moon", Flag: "🌙", Terms: []string{"Luna"}, Codes: []string{"ss"}},
		{ID: "cmhk", Flag: "🇲🇴"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, id string }{
		{"Lantau 1", "hk"},
		{"HKX-1", "hk"},
		{"🏝 1", "hk"},
		{"🇭🇰", "hk"},
		{"HK 1", "hk"},
		{"香港 1", "iplc"},       // a user's region comes first at equal rank
		{"香港 直连", "hk"},        // unless it says no
		{"香港 Hong Kong", "hk"}, // or the rank is not equal
		{"luna", "moon"},
		{"a 狮", "x"},
		{"狮城", "sg"},
		{"🌙 香港", "moon"},
		{"SS", "moon"}, // a user who says so means it
		{"🇲🇴", "cmhk"},
		{"Belarus", "by"},
	} {
		m, ok := table.Detect(c.name)
		if !ok || m.Region.ID != c.id {
			t.Errorf("%q: got %v, want %s", c.name, m.Region, c.id)
		}
	}
	if f := table.Region("hk").Flag; f != "🏝" {
		t.Errorf("flag of hk is %q", f)
	}
	// The table of all is as it was.
	if m, ok := region.Default().Detect("Lantau"); ok {
		t.Errorf("the default table knows %v", m)
	}
	if f := region.Default().Region("hk").Flag; f != "🇭🇰" {
		t.Errorf("default flag of hk is %q", f)
	}
}

func TestExtraRegionsHaveLimits(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, c := range []struct {
		name, member string
		extra        []region.Extra
	}{
		{"no id", "id", []region.Extra{{ID: " "}}},
		{"long id", "id", []region.Extra{{ID: long}}},
		{"long flag", "flag", []region.Extra{{ID: "x", Flag: long}}},
		{"long term", "terms[1]", []region.Extra{{ID: "x", Terms: []string{"a", long}}}},
		{"code with a digit", "codes[0]", []region.Extra{{ID: "x", Codes: []string{"H1"}}}},
		{"many terms", "terms", []region.Extra{{ID: "x", Terms: make([]string, 65)}}},
		{"many", "", make([]region.Extra, 65)},
	} {
		_, err := region.Default().With(c.extra)
		var e *region.ExtraError
		if !errors.As(err, &e) || e.Member != c.member {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestWithoutFlags(t *testing.T) {
	for in, want := range map[string]string{
		"🇭🇰 HK 1":           "HK 1",
		"HK 1 🇭🇰":           "HK 1",
		"A 🇭🇰 B":            "A B",
		"A🇭🇰B":              "AB",
		"🇭🇰🇺🇸 x":            "x",
		" 🇭🇰 ":              "",
		"🏴‍☠️ x":            "x",
		"🏴󠁧󠁢󠁳󠁣󠁴󠁿 Edinburgh": "Edinburgh",
		"plain  name ":      "plain  name ",
		"🇭 half":            "🇭 half",
		"🏳️‍🌈 x":            "🏳️‍🌈 x",
		"a 🏴 b":             "a b",
	} {
		if got := region.WithoutFlags(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{"🇭🇰 HK", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "TÜRKİYE", "50 GB", "\xff香港\xf0", "CN2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if m, ok := region.Default().Detect(name); ok && (m.Region == nil || m.Text == "") {
			t.Fatalf("%q: %+v", name, m)
		}
		bare := region.WithoutFlags(name)
		if utf8.ValidString(name) && !utf8.ValidString(bare) {
			t.Fatalf("%q became %q", name, bare)
		}
		if again := region.WithoutFlags(bare); len(again) > len(bare) {
			t.Fatalf("%q: %q, then %q", name, bare, again)
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	t := region.Default()
	for b.Loop() {
		t.Detect("IEPL 专线 Frankfurt 03 · SS 2x")
	}
}

// Writes countries.tsv: every country of ISO 3166-1 with its English,
// simplified and traditional Chinese names, as the Unicode CLDR of the Node.js
// that runs it has them.
//
//     node countries.mjs > countries.tsv
//
// A name of two letters (CLDR's short forms US, UK) is a code and no name, so
// the long form stands in for it; the long forms of Hong Kong and Macao name
// another country besides, so the short ones do.

const codes =
	"AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ " +
	"CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO " +
	"FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE " +
	"JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO " +
	"MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW " +
	"PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM " +
	"TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW";

const names = (locale, style) => new Intl.DisplayNames([locale], { type: "region", style });
const [short, long] = [names("en", "short"), names("en", "long")];
const [hans, hant] = [names("zh-Hans", "short"), names("zh-Hant", "short")];

console.log(`# Made by countries.mjs from Unicode CLDR ${process.versions.cldr}. Do not edit.`);
for (const code of codes.split(" ")) {
	const english = short.of(code).length > 2 ? short.of(code) : long.of(code);
	console.log([code, english, hans.of(code), hant.of(code)].join("\t"));
}

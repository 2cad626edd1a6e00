"""How leads are spelled, of columns and of signals: a pattern for names in lower case."""

LEAD = (
    r"-?av[rlf]|m?l?i{1,3}|ml[1-6]|d([1-3]|i{1,3})|l[1-3]|v[1-9]r?|v[xyz]|mcl?[1-6]|mv[1-6]|c[bcmrs]5|cr[1-9]|"
    r"[lr][al][ _-][lr][al]|(lf|f|v[x1-6]?)[ _-](ra|la|rl|r|l)|(ll|la)[ _-][rl]"
)

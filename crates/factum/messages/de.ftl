# Siehe en.ftl: Kundin oder Kunde, `.agent` für das Programm, das mit ihnen spricht, `.operator` für das Personal.

recorded = Ihr Auftrag ist erfasst. Er wurde noch nicht gesendet.
    .agent = Erfasst, noch nicht gesendet. Am Ziel ist bisher nichts geschehen. Nicht noch einmal einreichen.
    .operator = Erfasst; es wurde nichts gesendet.
being-sent = Ihr Auftrag wird gerade gesendet.
    .agent = Wird gerade gesendet; das Ergebnis ist noch nicht bekannt. Nicht noch einmal einreichen und nicht als erledigt melden.
    .operator = Eine Anfrage ist unterwegs; das Ergebnis ist noch nicht bekannt.
accepted-by-them = Ihr Auftrag wurde angenommen. Er ist noch nicht abgeschlossen.
    .agent = Vom Ziel angenommen, noch nicht abgeschlossen. Nicht noch einmal einreichen und nicht als erledigt melden.
    .operator = Vom Ziel angenommen; der Abschluss wird verfolgt.
accepted-checked-by-person = Ihr Auftrag wurde angenommen. Jemand aus unserem Team prüft, ob er abgeschlossen wurde.
    .agent = Vom Ziel angenommen; ein Mensch prüft, ob es abgeschlossen wurde. Nicht noch einmal einreichen und nicht als erledigt melden.
    .operator = Vom Ziel angenommen; ob es abgeschlossen wurde, ist nicht zu erfahren, und ein Mensch entscheidet.
done = Erledigt.
    .agent = Erledigt.
    .operator = Die Wirkung ist am Ziel vorhanden.
done-reference = Erledigt. Die Referenz lautet { $reference }.
    .agent = Erledigt, Referenz { $reference }.
    .operator = Die Wirkung ist am Ziel vorhanden, Referenz { $reference }.
done-after-all = Korrektur: Ihr Auftrag wurde doch ausgeführt.
    .agent = Korrektur der früheren Auskunft: Es wurde ausgeführt.
    .operator = Zuvor anders abgeschlossen; die Wirkung ist vorhanden.
done-after-all-reference = Korrektur: Ihr Auftrag wurde doch ausgeführt. Die Referenz lautet { $reference }.
    .agent = Korrektur der früheren Auskunft: Es wurde ausgeführt, Referenz { $reference }.
    .operator = Zuvor anders abgeschlossen; die Wirkung ist vorhanden, Referenz { $reference }.
done-perhaps-twice = Ihr Auftrag wurde ausgeführt, möglicherweise mehrfach: { $count ->
        [one] Ein Ergebnis wurde
       *[other] { $count } Ergebnisse wurden
    } gefunden. Jemand aus unserem Team klärt das.
    .agent = Ausgeführt, möglicherweise mehrfach: { $count ->
        [one] Eine Wirkung wurde
       *[other] { $count } Wirkungen wurden
    } gesehen. Ein Mensch klärt das. Nicht noch einmal einreichen.
    .operator = { $count ->
        [one] Eine Wirkung wurde
       *[other] { $count } Wirkungen wurden
    } am Ziel gesehen, wo eine gewollt war.
done-and-reversed = Ihr Auftrag wurde ausgeführt und danach rückgängig gemacht.
    .agent = Es wurde ausgeführt und danach rückgängig gemacht. Nur auf ausdrücklichen Wunsch noch einmal einreichen.
    .operator = Die Wirkung war vorhanden und wurde später rückgängig gemacht.
will-be-tried-again = Ihr Auftrag wurde noch nicht ausgeführt. Es wird erneut versucht.
    .agent = Noch nicht ausgeführt; es wird von selbst erneut versucht. Nicht noch einmal einreichen.
    .operator = Nachweislich ist bisher nichts geschehen; ein weiterer Versuch steht an.
held = Ihr Auftrag wurde noch nicht ausgeführt. Jemand aus unserem Team entscheidet, ob er gesendet wird.
    .agent = Noch nicht ausgeführt; ein Mensch entscheidet, ob es gesendet wird. Nicht noch einmal einreichen.
    .operator = Bisher ist nichts geschehen; ein Mensch entscheidet, ob gesendet wird.
not-done = Ihr Auftrag wurde nicht ausgeführt.
    .agent = Nicht ausgeführt.
    .operator = Nicht ausgeführt; nach den Belegen oder dem Wort eines Menschen ist nichts geschehen.
not-done-because = Ihr Auftrag wurde nicht ausgeführt. Der Grund: { $because }.
    .agent = Nicht ausgeführt. Der Grund: { $because }.
    .operator = Nicht ausgeführt; nach den Belegen oder dem Wort eines Menschen ist nichts geschehen: { $because }.
unknown-being-checked = Es ist noch nicht bekannt, ob Ihr Auftrag ausgeführt wurde. Das wird geprüft.
    .agent = Noch nicht bekannt, ob es ausgeführt wurde: Es wurde gesendet, und die Antwort ging verloren. Das System prüft. Nicht noch einmal einreichen. Sagen, dass es geprüft wird.
    .operator = Eine Anfrage kann gewirkt haben; das System stellt es fest.
unknown-checked-by-person = Es ist noch nicht bekannt, ob Ihr Auftrag ausgeführt wurde. Jemand aus unserem Team prüft das.
    .agent = Noch nicht bekannt, ob es ausgeführt wurde, und das System kann es nicht feststellen; ein Mensch prüft. Nicht noch einmal einreichen. Sagen, dass es geprüft wird.
    .operator = Eine Anfrage kann gewirkt haben; ein Mensch muss es feststellen.
unknown-for-good = Es lässt sich nicht mehr feststellen, ob Ihr Auftrag ausgeführt wurde.
    .agent = Es lässt sich nicht mehr feststellen, ob es ausgeführt wurde. Nicht noch einmal einreichen und weder das eine noch das andere behaupten.
    .operator = Die Suche wurde ohne Antwort beendet.
withdrawn = Ihr Auftrag wurde zurückgezogen. Es wurde nichts ausgeführt.
    .agent = Zurückgezogen; es wurde nichts ausgeführt.
    .operator = Zurückgezogen; nachweislich ist nichts geschehen.
not-in-time = Ihr Auftrag wurde nicht rechtzeitig ausgeführt. Es ist nichts geschehen.
    .agent = Nicht rechtzeitig ausgeführt; es ist nichts geschehen.
    .operator = Die Frist ist abgelaufen; nachweislich ist nichts geschehen.

# Ein Vorschlag: Inhalt, über den Menschen entscheiden, bevor etwas gesendet wird. Nach der Freigabe sagt die Auskunft seiner Aktion, wie es steht.

proposal-pending = Ihr Auftrag wartet auf Freigabe. Er wurde noch nicht gesendet.
    .agent = Wartet auf Freigabe; es wurde noch nichts gesendet. Nicht noch einmal einreichen und nicht als erledigt melden.
    .operator = Wartet auf eine Entscheidung; es wurde nichts gesendet.
proposal-approved = Ihr Auftrag wurde freigegeben.
    .agent = Freigegeben. Wie es steht, sagt die Auskunft der Aktion.
    .operator = Freigegeben; siehe die Aktion.
proposal-declined = Ihr Auftrag wurde nicht freigegeben. Er wurde nicht gesendet.
    .agent = Nicht freigegeben; es wurde nichts gesendet.
    .operator = Abgelehnt, oder zurückgezogen von der Person, die ihn gestellt hat; es wurde nichts gesendet.
proposal-superseded = Ihr Auftrag wurde geändert. Die frühere Fassung wurde nicht gesendet.
    .agent = Durch einen anderen Inhalt ersetzt; von diesem wurde nichts gesendet. Von der neueren Fassung sprechen.
    .operator = Ersetzt; von diesem wurde nichts gesendet.
proposal-expired = Ihr Auftrag wurde nicht rechtzeitig freigegeben. Er wurde nicht gesendet.
    .agent = Niemand hat rechtzeitig entschieden; es wurde nichts gesendet.
    .operator = Niemand hat rechtzeitig entschieden; es wurde nichts gesendet.

never-done = Es ist erledigt.
never-done-too = Ihr Auftrag wurde ausgeführt.
never-failed = Es ist fehlgeschlagen.
never-failed-too = Es ist nichts geschehen.
never-again = Bitte versuchen Sie es noch einmal.

correction = Korrektur. Die frühere Auskunft „{ $told }“ gilt nicht mehr. { $now }
    .agent = Als Korrektur weitergeben. Die frühere Auskunft „{ $told }“ gilt nicht mehr. Jetzt: { $now }
    .operator = Im Gespräch wurde gesagt: „{ $told }“ Die Belege stützen jetzt: { $now }
correction-about = Korrektur zu „{ $summary }“. Die frühere Auskunft „{ $told }“ gilt nicht mehr. { $now }
    .agent = Als Korrektur zu „{ $summary }“ weitergeben. Die frühere Auskunft „{ $told }“ gilt nicht mehr. Jetzt: { $now }
    .operator = „{ $summary }“: Im Gespräch wurde gesagt: „{ $told }“ Die Belege stützen jetzt: { $now }
news = Es gibt Neues zu Ihrem Auftrag. { $now }
    .agent = Weitergeben: { $now }
    .operator = Im Gespräch noch nicht gesagt: { $now }
news-about = Es gibt Neues zu „{ $summary }“. { $now }
    .agent = Zu „{ $summary }“ weitergeben: { $now }
    .operator = „{ $summary }“: im Gespräch noch nicht gesagt: { $now }

contact-by = { $route } Sie erhalten eine Antwort bis { $when }.
contact-late = { $route } Eine Antwort war Ihnen bis { $when } zugesagt. Sie steht noch aus; wir wurden daran erinnert.

date-time = { $day }. { $month ->
        [1] Januar
        [2] Februar
        [3] März
        [4] April
        [5] Mai
        [6] Juni
        [7] Juli
        [8] August
        [9] September
        [10] Oktober
        [11] November
       *[12] Dezember
    } { $year }, { $hour }:{ $minute } Uhr ({ $zone })

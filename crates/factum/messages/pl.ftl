# Zob. en.ftl: klient, `.agent` dla programu, który z nim rozmawia, `.operator` dla pracowników.

recorded = Zlecenie zostało zapisane. Nie zostało jeszcze wysłane.
    .agent = Zapisane, jeszcze nie wysłane. U odbiorcy jak dotąd nic się nie stało. Nie wysyłaj ponownie.
    .operator = Zapisane; nic nie zostało wysłane.
being-sent = Zlecenie jest właśnie wysyłane.
    .agent = Właśnie wysyłane; wynik nie jest jeszcze znany. Nie wysyłaj ponownie i nie podawaj jako gotowe.
    .operator = Żądanie jest w drodze; wynik nie jest jeszcze znany.
accepted-by-them = Zlecenie zostało przyjęte. Nie jest jeszcze zakończone.
    .agent = Przyjęte przez odbiorcę, jeszcze nie zakończone. Nie wysyłaj ponownie i nie podawaj jako gotowe.
    .operator = Przyjęte przez odbiorcę; system śledzi dalszy przebieg.
accepted-checked-by-person = Zlecenie zostało przyjęte. Nasz pracownik sprawdza, czy zostało zakończone.
    .agent = Przyjęte przez odbiorcę; pracownik sprawdza, czy zostało zakończone. Nie wysyłaj ponownie i nie podawaj jako gotowe.
    .operator = Przyjęte przez odbiorcę; nie da się ustalić, czy zostało zakończone, i decyduje pracownik.
done = Gotowe.
    .agent = Gotowe.
    .operator = Skutek istnieje u odbiorcy.
done-reference = Gotowe. Numer: { $reference }.
    .agent = Gotowe, numer: { $reference }.
    .operator = Skutek istnieje u odbiorcy, numer: { $reference }.
done-after-all = Sprostowanie: zlecenie zostało jednak wykonane.
    .agent = Sprostowanie wcześniejszej informacji: zlecenie zostało wykonane.
    .operator = Wcześniej zamknięte inaczej; skutek istnieje.
done-after-all-reference = Sprostowanie: zlecenie zostało jednak wykonane. Numer: { $reference }.
    .agent = Sprostowanie wcześniejszej informacji: zlecenie zostało wykonane, numer: { $reference }.
    .operator = Wcześniej zamknięte inaczej; skutek istnieje, numer: { $reference }.
done-perhaps-twice = Zlecenie zostało wykonane, być może więcej niż raz: { $count ->
        [one] znaleziono { $count } wynik
        [few] znaleziono { $count } wyniki
        [many] znaleziono { $count } wyników
       *[other] znaleziono { $count } wyniku
    }. Nasz pracownik to wyjaśnia.
    .agent = Wykonane, być może więcej niż raz: { $count ->
        [one] stwierdzono { $count } skutek
        [few] stwierdzono { $count } skutki
        [many] stwierdzono { $count } skutków
       *[other] stwierdzono { $count } skutku
    }. Pracownik to wyjaśnia. Nie wysyłaj ponownie.
    .operator = { $count ->
        [one] Stwierdzono { $count } skutek
        [few] Stwierdzono { $count } skutki
        [many] Stwierdzono { $count } skutków
       *[other] Stwierdzono { $count } skutku
    } u odbiorcy, a miał być jeden.
done-and-reversed = Zlecenie zostało wykonane, a później cofnięte.
    .agent = Zlecenie zostało wykonane, a później cofnięte. Wyślij ponownie tylko na wyraźną prośbę.
    .operator = Skutek istniał, a później został cofnięty.
will-be-tried-again = Zlecenie nie zostało jeszcze wykonane. Nastąpi kolejna próba.
    .agent = Jeszcze nie wykonane; system sam spróbuje jeszcze raz. Nie wysyłaj ponownie.
    .operator = Potwierdzono, że jak dotąd nic się nie stało; nastąpi kolejna próba.
held = Zlecenie nie zostało jeszcze wykonane. O wysłaniu zdecyduje nasz pracownik.
    .agent = Jeszcze nie wykonane; o wysłaniu zdecyduje pracownik. Nie wysyłaj ponownie.
    .operator = Jak dotąd nic się nie stało; o wysłaniu zdecyduje pracownik.
not-done = Zlecenie nie zostało wykonane.
    .agent = Nie wykonano.
    .operator = Nie wykonano; według dowodów lub słów pracownika nic się nie stało.
not-done-because = Zlecenie nie zostało wykonane. Powód: { $because }.
    .agent = Nie wykonano. Powód: { $because }.
    .operator = Nie wykonano; według dowodów lub słów pracownika nic się nie stało: { $because }.
unknown-being-checked = Nie wiadomo jeszcze, czy zlecenie zostało wykonane. Trwa sprawdzanie.
    .agent = Nie wiadomo jeszcze, czy zlecenie zostało wykonane: zostało wysłane, a odpowiedź zaginęła. System to sprawdza. Nie wysyłaj ponownie. Powiedz, że trwa sprawdzanie.
    .operator = Żądanie mogło odnieść skutek; system to ustala.
unknown-checked-by-person = Nie wiadomo jeszcze, czy zlecenie zostało wykonane. Sprawdza to nasz pracownik.
    .agent = Nie wiadomo jeszcze, czy zlecenie zostało wykonane, a system nie może tego ustalić; sprawdza to pracownik. Nie wysyłaj ponownie. Powiedz, że trwa sprawdzanie.
    .operator = Żądanie mogło odnieść skutek; pracownik musi to ustalić.
unknown-for-good = Nie da się już ustalić, czy zlecenie zostało wykonane.
    .agent = Nie da się już ustalić, czy zlecenie zostało wykonane. Nie wysyłaj ponownie i nie twierdź ani jednego, ani drugiego.
    .operator = Poszukiwanie skończyło się bez odpowiedzi.
withdrawn = Zlecenie zostało wycofane. Nic nie zostało wykonane.
    .agent = Wycofane; nic nie zostało wykonane.
    .operator = Wycofane; potwierdzono, że nic się nie stało.
not-in-time = Zlecenie nie zostało wykonane na czas. Nic nie zostało wykonane.
    .agent = Nie wykonano na czas; nic nie zostało wykonane.
    .operator = Termin minął; potwierdzono, że nic się nie stało.

# Propozycja: treść, o której decydują ludzie, zanim cokolwiek zostanie wysłane. Po zatwierdzeniu o stanie mówi zdanie jej akcji.

proposal-pending = Zlecenie czeka na zatwierdzenie. Nie zostało jeszcze wysłane.
    .agent = Czeka na zatwierdzenie; nic jeszcze nie zostało wysłane. Nie wysyłaj ponownie i nie podawaj jako gotowe.
    .operator = Czeka na decyzję; nic nie zostało wysłane.
proposal-approved = Zlecenie zostało zatwierdzone.
    .agent = Zatwierdzone. O stanie mówi zdanie jego akcji.
    .operator = Zatwierdzone; zob. akcję.
proposal-declined = Zlecenie nie zostało zatwierdzone. Nie zostało wysłane.
    .agent = Nie zatwierdzono; nic nie zostało wysłane.
    .operator = Odmowa albo wycofane przez osobę, która o nie prosiła; nic nie zostało wysłane.
proposal-superseded = Zlecenie zostało zmienione. Wcześniejsza wersja nie została wysłana.
    .agent = Zastąpiła je inna treść; z tej nic nie zostało wysłane. Mów o nowszej wersji.
    .operator = Zastąpione; z tej wersji nic nie zostało wysłane.
proposal-expired = Zlecenie nie zostało zatwierdzone na czas. Nie zostało wysłane.
    .agent = Nikt nie zdecydował na czas; nic nie zostało wysłane.
    .operator = Nikt nie zdecydował na czas; nic nie zostało wysłane.

never-done = Gotowe.
never-done-too = Zlecenie zostało wykonane.
never-failed = Nie udało się.
never-failed-too = Nic nie zostało wykonane.
never-again = Proszę spróbować ponownie.

correction = Sprostowanie. Wcześniejsza informacja „{ $told }” nie jest już aktualna. { $now }
    .agent = Przekaż jako sprostowanie. Wcześniejsza informacja „{ $told }” nie jest już aktualna. Teraz: { $now }
    .operator = W rozmowie powiedziano: „{ $told }” Dowody wskazują teraz: { $now }
correction-about = Sprostowanie w sprawie „{ $summary }”. Wcześniejsza informacja „{ $told }” nie jest już aktualna. { $now }
    .agent = Przekaż jako sprostowanie w sprawie „{ $summary }”. Wcześniejsza informacja „{ $told }” nie jest już aktualna. Teraz: { $now }
    .operator = „{ $summary }”: w rozmowie powiedziano: „{ $told }” Dowody wskazują teraz: { $now }
news = Są nowe informacje o Państwa zleceniu. { $now }
    .agent = Przekaż: { $now }
    .operator = W rozmowie jeszcze nie powiedziano: { $now }
news-about = Są nowe informacje w sprawie „{ $summary }”. { $now }
    .agent = Przekaż w sprawie „{ $summary }”: { $now }
    .operator = „{ $summary }”: w rozmowie jeszcze nie powiedziano: { $now }

contact-by = { $route } Odpowiedź otrzymają Państwo najpóźniej: { $when }.
contact-late = { $route } Odpowiedź miała nadejść najpóźniej: { $when }. Jest spóźniona; otrzymaliśmy przypomnienie.

date-time = { $day } { $month ->
        [1] stycznia
        [2] lutego
        [3] marca
        [4] kwietnia
        [5] maja
        [6] czerwca
        [7] lipca
        [8] sierpnia
        [9] września
        [10] października
        [11] listopada
       *[12] grudnia
    } { $year }, godz. { $hour }:{ $minute } ({ $zone })
